//! Names the shared library, so that programs find the version that they were linked with.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtactusrt.so.0");
}
