"""Real programs at real work, recorded: what `findings.py` looks into."""

import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import textwrap
import time

WAIT_S = 60


class Missing(Exception):
    """What the program needs, and this system does not have."""


def need(*names):
    """The paths of programs, also of those that servers keep out of PATH."""
    places = os.pathsep.join([os.environ["PATH"], "/usr/sbin",
                              *map(str, sorted(pathlib.Path("/usr/lib/postgresql").glob(
        "*/bin"), reverse=True))])
    paths = [shutil.which(name, path=places) for name in names]
    if None in paths:
        raise Missing(names[paths.index(None)])
    return paths


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(arguments, **settings):
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=WAIT_S, check=False, **settings)
    if result.returncode != 0:
        raise RuntimeError(f"{arguments}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class Server:
    """A recorded server: it listens when the block begins, and has ended when that ends."""

    def __init__(self, arguments, port, **settings):
        self.command, self.port, self.settings = arguments, port, settings

    def __enter__(self):
        self.running = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True, **self.settings)
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until and self.running.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.05)
        self.kill()
        raise RuntimeError(f"{self.command} does not listen:\n{self.running.communicate()[1]}")

    def kill(self):
        """The recorder and what it runs, which are a group of their own."""
        os.killpg(self.running.pid, signal.SIGKILL)

    def __exit__(self, *_):
        self.running.send_signal(signal.SIGTERM)
        try:
            self.running.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


class Programs:
    """Each method records one program, and gives its recordings by the part of it that they are."""

    def __init__(self, tarn, folder, appserver):
        self.tarn, self.folder, self.appserver = tarn, pathlib.Path(folder), appserver

    def record(self, name, *options):
        """The arguments before the program's own, and where the recording will be."""
        file = self.folder / f"{name}.rec"
        return [self.tarn, "record", *options, "-o", str(file), "--"], file

    def child(self, file, is_it):
        """Of the processes that a recorded one started, the one with most allocations where `is_it(arguments)`."""
        def allocations(path):
            text = self.report(path)
            return text["heap"]["allocations"] if is_it(text["program"]["arguments"]) else -1
        return max(file.parent.glob(file.name + ".*"), key=allocations)

    def report(self, path):
        return json.loads(run([self.tarn, "report", "--json", "--top", "1", str(path)]))

    # --- Of some seconds ---

    def sqlite(self):
        (sqlite,) = need("sqlite3")
        command, file = self.record("sqlite", "--full")
        script = """
            create table t(id integer primary key, name text, value real);
            with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000)
              insert into t select i, 'name ' || i, i * 0.5 from n;
            create index t_name on t(name);
            select count(*), sum(value) from t where name like '%77%';
            select substr(name, 1, 7) as k, count(*) from t group by k order by 2 desc limit 3;
            """
        queries = "".join(f"select value from t where name = 'name {number}';\n" for number in range(300))
        run([*command, sqlite, str(self.folder / "data.db")], input=textwrap.dedent(script) + queries)
        return {"sqlite": file}

    def python(self):
        if not os.access("/usr/bin/python3", os.X_OK):
            raise Missing("/usr/bin/python3")
        command, file = self.record("python", "--full")
        script = """
            import json, re
            rows = [{"id": i, "name": "name %d" % i, "tags": [str(j) for j in range(5)]} for i in range(15000)]
            text = json.dumps(rows)
            print(len(text), len(json.loads(text)), len(re.findall(r"\\d+", text)))
            """
        run([*command, "/usr/bin/python3", "-s", "-c", textwrap.dedent(script)],
            env={**os.environ, "PYTHONMALLOC": "malloc"})
        return {"python": file}

    def compiler(self):
        (compiler,) = need("g++")
        command, file = self.record("compiler", "--follow", "--full")
        source = self.folder / "text.cpp"
        source.write_text("#include <map>\n#include <string>\n#include <vector>\n"
                          "std::map<std::string, std::vector<int>> all;\n"
                          "void add(const char* name, int value) { all[name].push_back(value); }\n")
        run([*command, compiler, "-O1", "-c", str(source), "-o", "/dev/null"])
        return {"g++": file, "cc1plus": self.child(file, lambda arguments: arguments[0].endswith("cc1plus"))}

    # --- Servers under load ---

    def redis(self):
        server, load = need("redis-server", "redis-benchmark")
        port = free_port()
        command, file = self.record("redis")
        with Server([*command, server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
                    port,
                    cwd=self.folder):
            run([load, "-p", str(port), "-n", "40000", "-c", "20", "-r", "10000", "-q", "-t",
                 "set,get,lpush,lpop,sadd,hset"])
        return {"redis": file}

    def nginx(self):
        server, load = need("nginx", "h2load")
        port, folder = free_port(), self.folder / "nginx"
        (folder / "www").mkdir(parents=True)
        (folder / "www/page.html").write_text("word " * 1000)
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in
                            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(f"""
            daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors; {user}
            events {{ worker_connections 256; }}
            http {{ access_log {folder}/log; {temporary} gzip on; gzip_types text/html;
                   server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}
            """)
        command, file = self.record("nginx", "--follow")
        with Server([*command, server, "-p", str(folder), "-e", f"{folder}/errors", "-c", str(folder / "nginx.conf")],
                    port):
            run([load, "--h1", "-n", "40000", "-c", "8", "-H", "accept-encoding: gzip",
                 f"http://127.0.0.1:{port}/page.html"])
        return {"nginx master": file, "nginx worker": self.child(file, lambda arguments: True)}

    def postgres(self):
        server, make, load = need("postgres", "initdb", "pgbench")
        port, folder = free_port(), self.folder / "postgres"
        folder.mkdir()
        settings, user = {}, pwd.getpwuid(os.geteuid()).pw_name
        if os.geteuid() == 0:  # which the server refuses
            user = "postgres" if "postgres" in [account.pw_name for account in pwd.getpwall()] else "nobody"
            settings = {"user": user, "group": pwd.getpwnam(user).pw_gid}
            shutil.chown(folder, user)
            self.folder.chmod(0o755)
        run([make, "-D", str(folder / "data"), "-U", user, "-A", "trust", "--no-sync"], cwd=folder, **settings)
        command, _ = self.record("postgres", "--follow")
        command[command.index("-o") + 1] = str(folder / "server.rec")
        address = ["-h", "127.0.0.1", "-p", str(port), "-U", user]
        with Server([*command, server, "-D", str(folder / "data"), "-p", str(port), "-k", str(folder), "-c",
                     "fsync=off"], port, cwd=folder, **settings):
            run([load, *address, "-i", "-q", "postgres"])
            run([load, *address, "-c", "2", "-t", "4000", "-n", "postgres"])
        return {"postgres backend": self.child(folder / "server.rec", lambda arguments: True)}

    def demo(self):
        if not self.appserver or not os.access(self.appserver, os.X_OK):
            raise Missing("the server of examples/appserver")
        (load,) = need("h2load")
        port = free_port()
        (self.folder / "appserver.toml").write_text("# all defaults\n")
        command, file = self.record("demo")
        with Server([*command, self.appserver, "--config", str(self.folder / "appserver.toml"), "--port", str(port),
                     "--workers", "2", "--allocator=global"], port):
            run([load, "--h1", "-n", "20000", "-c", "16", f"http://127.0.0.1:{port}/page?rows=256"])
        return {"demo": file}


SMALL = ["sqlite", "python", "compiler"]
SERVERS = ["redis", "nginx", "postgres", "demo"]
