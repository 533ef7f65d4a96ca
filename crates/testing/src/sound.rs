//! A sound server without hardware.

/// The configuration of a PipeWire with as little as possible: a driver, and a sink `quiet` without
/// a device, whose ports are `playback_FL` and so on, and `monitor_FL`. A cycle has `quantum`
/// frames of 1/48000 s.
pub fn sound_server_configuration(quantum: u32) -> String {
    SERVER.replace("QUANTUM", &quantum.to_string())
}

/// Clients ask for their priority as the server does.
const SERVER: &str = r"
context.properties = {
    core.daemon = true core.name = pipewire-0 log.level = 0
    default.clock.rate = 48000 default.clock.quantum = QUANTUM
    default.clock.min-quantum = QUANTUM default.clock.max-quantum = QUANTUM
}
context.spa-libs = {
    audio.convert.* = audioconvert/libspa-audioconvert
    support.* = support/libspa-support
}
context.modules = [
    { name = libpipewire-module-rt args = { nice.level = -11 } flags = [ nofail ] }
    { name = libpipewire-module-protocol-native }
    { name = libpipewire-module-profiler }
    { name = libpipewire-module-metadata }
    { name = libpipewire-module-spa-node-factory }
    { name = libpipewire-module-client-node }
    { name = libpipewire-module-access }
    { name = libpipewire-module-adapter }
    { name = libpipewire-module-link-factory }
]
context.objects = [
    { factory = spa-node-factory args = {
        factory.name = support.node.driver node.name = driver node.group = pipewire.dummy priority.driver = 20000
    } }
    { factory = adapter args = {
        factory.name = support.null-audio-sink node.name = quiet media.class = Audio/Sink
        audio.position = [ FL FR ] adapter.auto-port-config = { mode = dsp monitor = true position = preserve }
    } }
]
";
