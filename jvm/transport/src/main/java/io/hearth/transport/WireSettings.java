package io.hearth.transport;

import java.time.Duration;
import java.util.Optional;

/**
 * What a side of the wire is told.
 *
 * @param secret both sides prove that they know it; absent: anyone who reaches the port may call
 * @param encryption whether messages must be encrypted
 * @param carriers which carriers may be used
 * @param idling what the carriers' threads do while there is nothing to do
 * @param ucxTransports for UCX, where the environment has no {@code UCX_TLS}: shared memory and RDMA. UCX's own TCP is
 *     left out, since it would listen on ports of its own choice, and System V's shared memory, since UCX opens its
 *     segments to the user's group
 * @param memoryBytes for messages, those that come and those that go
 * @param windowBytes requests, and as much again in responses, that one connection may send before any is done with
 * @param longestBytes of one message
 * @param queueLimit requests that wait for a carrier's thread
 * @param callLimit requests of one connection without an answer
 * @param handshakeLimit for a new connection, from the first byte to the last proof
 * @param stallLimit after which a peer that takes nothing is given up
 * @param strangerLimit connections that have not proved the secret yet
 */
public record WireSettings(
        Optional<Secret> secret, Encryption encryption, Carriers carriers, IdleStrategy idling, String ucxTransports,
        long memoryBytes, int windowBytes, int longestBytes, int queueLimit, int callLimit, Duration handshakeLimit,
        Duration stallLimit, int strangerLimit) {

    private static final long MB = 1 << 20;

    /** Whether messages are encrypted between the two sides. */
    public enum Encryption {
        OFF,
        /** Goes on without it where it cannot be had, and says so. */
        PREFERRED,
        /** Refuses the connection where it cannot be had. */
        REQUIRED
    }

    /** Which carriers may be used. */
    public enum Carriers {
        /** UCX where both sides can; else TCP, with the reason. */
        ANY,
        TCP,
        /** Refuses the connection where UCX cannot be had. */
        UCX
    }

    public WireSettings {
        check("memoryBytes", memoryBytes, 8 * MB, 1L << 40);
        check("windowBytes", windowBytes, 1 << 16, 1 << 30);
        check("longestBytes", longestBytes, 1, 1 << 30);
        check("queueLimit", queueLimit, 1, 1 << 20);
        check("callLimit", callLimit, 1, 1 << 20);
        check("handshakeLimit (ms)", handshakeLimit.toMillis(), 10, 600_000);
        check("stallLimit (ms)", stallLimit.toMillis(), 10, 86_400_000);
        check("strangerLimit", strangerLimit, 1, 1 << 16);
        if (longestBytes > memoryBytes / 4)
            throw new IllegalArgumentException("longestBytes: " + longestBytes + " is more than a quarter of memoryBytes ("
                    + memoryBytes + "): give more memory or shorter messages");
    }

    private static void check(String name, long value, long least, long most) {
        if (value < least || value > most)
            throw new IllegalArgumentException(name + ": " + value + " is not between " + least + " and " + most);
    }

    /**
     * What holds where the user sets nothing, the environment included.
     *
     * @throws IllegalArgumentException where the environment has a value that is not allowed, with its variable
     */
    public static WireSettings defaults() {
        return WireEnvironment.over(builtIn(), System.getenv());
    }

    static WireSettings builtIn() {
        return new WireSettings(Optional.empty(), Encryption.OFF, Carriers.ANY, Idling.EVENT, "posix,cma,self,ib",
                256 * MB, (int) (4 * MB), (int) (64 * MB), 4096, 1024, Duration.ofSeconds(10), Duration.ofSeconds(30),
                256);
    }

    public WireSettings withSecret(Secret known) {
        return new WireSettings(Optional.of(known), encryption, carriers, idling, ucxTransports, memoryBytes, windowBytes,
                longestBytes, queueLimit, callLimit, handshakeLimit, stallLimit, strangerLimit);
    }

    public WireSettings withEncryption(Encryption wanted) {
        return new WireSettings(secret, wanted, carriers, idling, ucxTransports, memoryBytes, windowBytes, longestBytes,
                queueLimit, callLimit, handshakeLimit, stallLimit, strangerLimit);
    }

    public WireSettings withCarriers(Carriers wanted) {
        return new WireSettings(secret, encryption, wanted, idling, ucxTransports, memoryBytes, windowBytes, longestBytes,
                queueLimit, callLimit, handshakeLimit, stallLimit, strangerLimit);
    }

    public WireSettings withIdling(IdleStrategy wanted) {
        return new WireSettings(secret, encryption, carriers, wanted, ucxTransports, memoryBytes, windowBytes, longestBytes,
                queueLimit, callLimit, handshakeLimit, stallLimit, strangerLimit);
    }

    public WireSettings withUcxTransports(String wanted) {
        return new WireSettings(secret, encryption, carriers, idling, wanted, memoryBytes, windowBytes, longestBytes,
                queueLimit, callLimit, handshakeLimit, stallLimit, strangerLimit);
    }

    public WireSettings withMemory(long memory, int window, int longest) {
        return new WireSettings(secret, encryption, carriers, idling, ucxTransports, memory, window, longest, queueLimit,
                callLimit, handshakeLimit, stallLimit, strangerLimit);
    }

    public WireSettings withLimits(int queue, int calls, int strangers) {
        return new WireSettings(secret, encryption, carriers, idling, ucxTransports, memoryBytes, windowBytes,
                longestBytes, queue, calls, handshakeLimit, stallLimit, strangers);
    }

    public WireSettings withTimes(Duration handshake, Duration stall) {
        return new WireSettings(secret, encryption, carriers, idling, ucxTransports, memoryBytes, windowBytes,
                longestBytes, queueLimit, callLimit, handshake, stall, strangerLimit);
    }
}
