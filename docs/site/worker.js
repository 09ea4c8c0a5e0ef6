// The search runs in a worker. Browsers refuse workers to pages that are opened from a disk, so there a frame runs it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...scripts) => Promise.all(scripts.map((name) => this.load(name)));
      this.loaded = this.load(script);
    }
    load(script) {
      return new Promise((resolve, reject) => {
        const element = this.inside.document.createElement("script");
        element.src = new URL(script, location);
        element.onload = resolve;
        element.onerror = reject;
        this.inside.document.body.append(element);
      });
    }
    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
