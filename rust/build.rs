//! Finds libtarn.a: under the prefix in LIBTARN_PREFIX, by pkg-config, or built from the checkout around this crate.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

fn main() {
    for name in ["LIBTARN_PREFIX", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    match libraries() {
        Ok(folder) => {
            println!("cargo:rerun-if-changed={}", folder.join("libtarn.a").display());
            println!("cargo:rustc-link-search=native={}", folder.display());
            println!("cargo:rustc-link-lib=static=tarn");
            println!("cargo:rustc-link-lib=dylib=stdc++");
        }
        Err(error) => {
            eprintln!("tarn: {error}");
            exit(1);
        }
    }
}

/// The folder that has libtarn.a.
fn libraries() -> Result<PathBuf, String> {
    if let Some(prefix) = env::var_os("LIBTARN_PREFIX") {
        let folder = Path::new(&prefix).join("lib");
        return if folder.join("libtarn.a").is_file() {
            Ok(folder)
        } else {
            Err(format!(
                "LIBTARN_PREFIX: no {}; it is the PREFIX of ./dev install --library PREFIX",
                folder.join("libtarn.a").display()
            ))
        };
    }
    if let Some(folder) = installed() {
        return Ok(folder);
    }
    let checkout = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("..");
    if checkout.join("src/memory").is_dir() {
        return built_from(&checkout);
    }
    Err("libtarn.a is neither under LIBTARN_PREFIX nor known to pkg-config: install it from a checkout \
         of Tarn by ./dev install --library PREFIX, and set LIBTARN_PREFIX=PREFIX"
        .to_string())
}

/// What pkg-config knows of the version of this crate.
fn installed() -> Option<PathBuf> {
    let wanted = format!("tarn = {}", env!("CARGO_PKG_VERSION"));
    let found = Command::new("pkg-config").args(["--variable=libdir", &wanted]).output().ok()?;
    let folder = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim().replace("\\ ", " "));
    (found.status.success() && folder.join("libtarn.a").is_file()).then_some(folder)
}

fn built_from(checkout: &Path) -> Result<PathBuf, String> {
    for folder in ["CMakeLists.txt", "cmake", "include", "src"] {
        println!("cargo:rerun-if-changed={}", checkout.join(folder).display());
    }
    let output = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    let build = Path::new(&output).join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(checkout).arg("-B").arg(&build);
    configure.args(["-DCMAKE_BUILD_TYPE=Release", "-DTARN_BUILD_MALLOC=OFF"]);
    configure.args(["TOOLS", "TESTS", "BENCH", "LAB", "EXAMPLES"].map(|part| format!("-DTARN_BUILD_{part}=OFF")));
    run(&mut configure)?;
    let mut compile = Command::new("cmake");
    compile.arg("--build").arg(&build).args(["--target", "tarn_engine", "--parallel"]);
    compile.arg(env::var("NUM_JOBS").unwrap_or_else(|_| "1".to_string()));
    run(&mut compile)?;
    Ok(build.join("lib"))
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{status}: {command:?}")),
        Err(error) => Err(format!("{command:?} cannot be started: {error}")),
    }
}
