"""A root folder with a few packages of this system and what they depend on, and nothing else.

It is made of the installed files, without a network. Programs run in it in their own namespaces.
"""

import os
import pathlib
import re
import shutil
import subprocess

BASE = ["bash", "coreutils", "dash", "dpkg", "libc-bin", "tar"]  # what dpkg and its scripts run
INFO = pathlib.Path("/var/lib/dpkg/info")


def installed_packages():
    """The dependencies of each installed package, and of each name that one provides, as alternatives."""
    output = subprocess.run(["dpkg-query", "--show", "--showformat",
                             "${db:Status-Status}\t${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n"],
                            check=True, capture_output=True, text=True).stdout
    packages = {}
    for status, name, provided, needs in (line.split("\t") for line in output.splitlines()):
        if status == "installed":
            packages[name] = name, needs
            for virtual in names_of(provided):
                packages.setdefault(virtual, (name, needs))
    return packages


def names_of(dependencies):
    """The packages in a field such as Depends: of alternatives the first."""
    return [re.match(r"\s*([^\s:(|]+)", part)[1] for part in dependencies.split(",") if part.strip()]


def closure(names):
    """The installed packages that these need, and they themselves."""
    packages, closed, waiting = installed_packages(), set(), list(names)
    while waiting:
        name, needs = packages[waiting.pop()]
        if name not in closed:
            closed.add(name)
            waiting += [need for need in names_of(needs) if need in packages]
    return sorted(closed)


def copy_file(path, root):
    """Copies a file of a package to where its folder really is: /lib may be a link to /usr/lib."""
    target = root / os.path.realpath(path.parent).lstrip("/") / path.name
    if path.is_dir() and not path.is_symlink():
        target.mkdir(parents=True, exist_ok=True)
    elif path.exists() and not os.path.lexists(target):  # a container's image may lack manual pages
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)


def make(root, names):
    """Fills an empty folder with the base, the packages of these names, and what they depend on."""
    for folder in ["bin", "sbin", "lib", "lib64"]:
        if os.path.islink(f"/{folder}"):
            (root / folder).symlink_to(os.readlink(f"/{folder}"))
    for folder in ["dev", "proc", "tmp", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"]:
        (root / folder).mkdir(parents=True)
    packages = closure([*BASE, *names])
    for package in packages:
        output = subprocess.run(["dpkg-query", "--listfiles", package], check=True, capture_output=True, text=True)
        for line in output.stdout.splitlines():
            if line.startswith("/") and line != "/.":
                copy_file(pathlib.Path(line), root)
        for info in [*INFO.glob(f"{package}.list"), *INFO.glob(f"{package}:*.list")]:
            shutil.copy2(info, root / "var/lib/dpkg/info")
    status = subprocess.run(["dpkg-query", "--status", *packages], check=True, capture_output=True, text=True).stdout
    (root / "var/lib/dpkg/status").write_text(status, encoding="utf-8")
    return packages


def command_inside(root):
    """What stands before a command that runs in the root, with the system's devices."""
    script = 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" env -i "$@"'
    return [*namespace_command(), "sh", "-c", script, str(root), "PATH=/usr/bin:/bin:/usr/sbin:/sbin"]


def namespace_command():
    """The command that gives a program mounts and processes of its own; None where the kernel refuses them."""
    for user in ([], ["--map-root-user"]):
        command = ["unshare", *user, "--mount", "--pid", "--fork"]
        if shutil.which("unshare") and subprocess.run([*command, "mount", "-t", "proc", "proc", "/proc"], check=False,
                                                      stderr=subprocess.DEVNULL).returncode == 0:
            return command
    return None
