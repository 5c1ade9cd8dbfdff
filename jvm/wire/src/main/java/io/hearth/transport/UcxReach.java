package io.hearth.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Where UCX's shared memory reaches, and where it wakes: a worker that sleeps is woken over a socket whose name is known in
 * its network namespace alone. What came from another one, as from a pod with {@code hostIPC}, would lie there.
 *
 * @param memory of the machine and the IPC namespace; {@code network} of the network namespace
 */
record UcxReach(int memory, int network) {
    static final int BYTES = 2 * Integer.BYTES;

    static UcxReach here() throws IOException {
        String machine = Files.readString(Path.of("/proc/sys/kernel/random/boot_id"));
        Path namespaces = Path.of("/proc/self/ns");
        String memory = machine + Files.readSymbolicLink(namespaces.resolve("ipc"));
        return new UcxReach(memory.hashCode(), Files.readSymbolicLink(namespaces.resolve("net")).toString().hashCode());
    }

    static UcxReach read(ByteBuffer in) {
        return new UcxReach(in.getInt(), in.getInt());
    }

    void write(ByteBuffer out) {
        out.putInt(memory).putInt(network);
    }

    boolean reachesButDoesNotWake(UcxReach peer) {
        return memory == peer.memory && network != peer.network;
    }
}
