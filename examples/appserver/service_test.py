"""The server under a service manager: service_test.py PROGRAM SAMPLE-CONFIGURATION TARN.

A stand-in has the notify socket and the listening one; systemd-analyze, where it is, reads the unit files.
"""

import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

from driver import PATIENCE, PROGRAM, SAMPLE, SITE, Server

FOLDER = pathlib.Path(SAMPLE).parent


class Manager:
    """The stand-in: its sockets, and the command that starts a program with them.

    A notify socket has room for ten messages here, and the server drops a message when it is full. So a manager that
    asks for signs of life must read all the time, and no test expects another message beside them.
    """

    def __init__(self, descriptors=(), environment=""):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.folder.name + "/notify")
        self.socket.settimeout(PATIENCE)
        passed = "".join(f" {3 + index}<&{descriptor}" for index, descriptor in enumerate(descriptors))
        listen = f"LISTEN_PID=$$ LISTEN_FDS={len(descriptors)}" if descriptors else ""
        variables = f"NOTIFY_SOCKET={self.folder.name}/notify {environment} {listen}"
        self.under = ["sh", "-c", f'exec env {variables} "$@"{passed}', "sh"]

    def next(self):
        """Waits for the next message of the server."""
        return self.socket.recv(256).decode()

    def close(self):
        self.socket.close()
        self.folder.cleanup()


class Service(unittest.TestCase):
    def manager(self, descriptors=(), environment=""):
        manager = Manager(descriptors, environment)
        self.addCleanup(manager.close)
        return manager

    def test_life_is_told(self):
        manager = self.manager()
        with Server(under=manager.under) as server:
            self.assertEqual(manager.next(), "READY=1")
            self.assertEqual(server.ask("GET", "/healthz").text, "ok\n")
            server.reload(f"[server]\nport = 0\n{SITE}")
            self.assertRegex(manager.next(), r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
            self.assertEqual(manager.next(), "READY=1")
            self.assertEqual(server.end(), 0)
            self.assertEqual(manager.next(), "STOPPING=1")

    def test_signs_of_life_come_again_and_again(self):
        manager = self.manager(environment="WATCHDOG_USEC=100000")
        with Server(under=manager.under) as server:
            beats = 0
            while beats < 3:
                beats += manager.next() == "WATCHDOG=1"
            self.assertEqual(server.end(), 0)

    def test_port_that_is_open_already_is_served(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            manager = self.manager([listening.fileno()])
            port = listening.getsockname()[1]
            with Server("workers = 2", under=manager.under, passed=[listening.fileno()]) as server:
                self.assertEqual(server.port, port)
                for _ in range(20):
                    self.assertEqual(server.ask("GET", "/healthz").text, "ok\n")
                self.assertEqual(server.end(), 0)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_unit_files_are_right(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ["appserver.service", "appserver.socket"]:
                text = (FOLDER / name).read_text(encoding="utf-8")
                text = text.replace("/opt/tarn/bin/tarn-appserver", str(pathlib.Path(PROGRAM).resolve()))
                (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
            result = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                                     f"{folder}/appserver.service",
                                     f"{folder}/appserver.socket"], capture_output=True, text=True, check=False)
            # The host's own units may have faults, which are none of this test's business.
            output = [line for line in (result.stdout + result.stderr).splitlines() if "appserver" in line]
            self.assertEqual((result.returncode, output), (0, []))


if __name__ == "__main__":
    unittest.main()
