package io.hearth.transport;

import java.time.Duration;
import java.util.Optional;

/**
 * What a side of the wire is told.
 *
 * @param secret both sides prove that they know it; absent: anyone who reaches the port may call
 * @param encryption whether messages must be encrypted
 * @param transports which transports may be used
 * @param idling what the agents' threads do while there is nothing to do
 * @param ucxTransports for UCX, where the environment has no {@code UCX_TLS}: shared memory and RDMA. UCX's own TCP is
 *     left out, since it would listen on ports of its own choice, and System V's shared memory, since UCX opens its
 *     segments to the user's group
 * @param memoryBytes for messages, those that come and those that go
 * @param windowBytes requests, and as much again in responses, that one connection may send before any is done with
 * @param maxMessageBytes of one message
 * @param queueLimit requests that wait for a agent's thread
 * @param callLimit requests of one connection without an answer
 * @param handshakeLimit for a new connection, from the first byte to the last proof
 * @param stallLimit after which a peer that takes nothing is given up
 * @param pendingHandshakeLimit connections that have not proved the secret yet
 */
public record WireSettings(
        Optional<Secret> secret, Encryption encryption, Transports transports, IdleStrategy idling, String ucxTransports,
        long memoryBytes, int windowBytes, int maxMessageBytes, int queueLimit, int callLimit, Duration handshakeLimit,
        Duration stallLimit, int pendingHandshakeLimit) {

    private static final long MB = 1 << 20;

    /** Whether messages are encrypted between the two sides. */
    public enum Encryption {
        OFF,
        /** Goes on without it where it cannot be had, and says so. */
        PREFERRED,
        /** Refuses the connection where it cannot be had. */
        REQUIRED
    }

    /** Which transports may be used. */
    public enum Transports {
        /** UCX where both sides can; else TCP, with the reason. */
        ANY,
        TCP,
        /** Refuses the connection where UCX cannot be had. */
        UCX
    }

    public WireSettings {
        check("memoryBytes", memoryBytes, 8 * MB, 1L << 40);
        check("windowBytes", windowBytes, 1 << 16, 1 << 30);
        check("maxMessageBytes", maxMessageBytes, 1, 1 << 30);
        check("queueLimit", queueLimit, 1, 1 << 20);
        check("callLimit", callLimit, 1, 1 << 20);
        check("handshakeLimit (ms)", handshakeLimit.toMillis(), 10, 600_000);
        check("stallLimit (ms)", stallLimit.toMillis(), 10, 86_400_000);
        check("pendingHandshakeLimit", pendingHandshakeLimit, 1, 1 << 16);
        if (maxMessageBytes > memoryBytes / 4)
            throw new IllegalArgumentException("maxMessageBytes: " + maxMessageBytes + " is more than a quarter of memoryBytes ("
                    + memoryBytes + "): give more memory or shorter messages");
    }

    private static void check(String name, long value, long min, long max) {
        if (value < min || value > max)
            throw new IllegalArgumentException(name + ": " + value + " is not between " + min + " and " + max);
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
        return new WireSettings(Optional.empty(), Encryption.OFF, Transports.ANY, Idling.EVENT, "posix,cma,self,ib",
                256 * MB, (int) (4 * MB), (int) (64 * MB), 4096, 1024, Duration.ofSeconds(10), Duration.ofSeconds(30),
                256);
    }

    public WireSettings withSecret(Secret known) {
        return new WireSettings(Optional.of(known), encryption, transports, idling, ucxTransports, memoryBytes, windowBytes,
                maxMessageBytes, queueLimit, callLimit, handshakeLimit, stallLimit, pendingHandshakeLimit);
    }

    public WireSettings withEncryption(Encryption wanted) {
        return new WireSettings(secret, wanted, transports, idling, ucxTransports, memoryBytes, windowBytes, maxMessageBytes,
                queueLimit, callLimit, handshakeLimit, stallLimit, pendingHandshakeLimit);
    }

    public WireSettings withTransports(Transports wanted) {
        return new WireSettings(secret, encryption, wanted, idling, ucxTransports, memoryBytes, windowBytes, maxMessageBytes,
                queueLimit, callLimit, handshakeLimit, stallLimit, pendingHandshakeLimit);
    }

    public WireSettings withIdling(IdleStrategy wanted) {
        return new WireSettings(secret, encryption, transports, wanted, ucxTransports, memoryBytes, windowBytes, maxMessageBytes,
                queueLimit, callLimit, handshakeLimit, stallLimit, pendingHandshakeLimit);
    }

    public WireSettings withUcxTransports(String wanted) {
        return new WireSettings(secret, encryption, transports, idling, wanted, memoryBytes, windowBytes, maxMessageBytes,
                queueLimit, callLimit, handshakeLimit, stallLimit, pendingHandshakeLimit);
    }

    public WireSettings withMemory(long memory, int window, int maxMessage) {
        return new WireSettings(secret, encryption, transports, idling, ucxTransports, memory, window, maxMessage, queueLimit,
                callLimit, handshakeLimit, stallLimit, pendingHandshakeLimit);
    }

    public WireSettings withLimits(int queue, int calls, int pendingHandshakes) {
        return new WireSettings(secret, encryption, transports, idling, ucxTransports, memoryBytes, windowBytes,
                maxMessageBytes, queue, calls, handshakeLimit, stallLimit, pendingHandshakes);
    }

    public WireSettings withTimes(Duration handshake, Duration stall) {
        return new WireSettings(secret, encryption, transports, idling, ucxTransports, memoryBytes, windowBytes,
                maxMessageBytes, queueLimit, callLimit, handshake, stall, pendingHandshakeLimit);
    }
}
