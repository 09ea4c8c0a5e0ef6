"""A hook of MkDocs: no page loads anything from another host, so the site also works without a network."""

SHIM = '<script src="https://unpkg.com/iframe-worker/shim"></script>'


def on_post_template(output, config=None, **_):
    return offline(output, config, "")


def on_post_page(output, page=None, config=None, **_):
    return offline(output, config, "../" * page.file.dest_uri.count("/"))


def offline(output, _config, root):
    return output.replace(SHIM, f'<script src="{root}worker.js"></script>')
