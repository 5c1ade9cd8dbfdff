package io.hearth.transport;

import java.time.Duration;
import java.util.Optional;

/**
 * What a side of the wire is told.
 *
 * @param secret both sides prove that they know it; absent: anyone who reaches the port may call
 * @param transports which transports may be used
 * @param idling what the agents' threads do while there is nothing to do
 * @param memoryBytes for messages, those that come and those that go
 * @param windowBytes requests, and as much again in responses, that one connection may send before any is done with
 * @param maxMessageBytes of one message
 */
public record WireSettings(Optional<Secret> secret, Transports transports, IdleStrategy idling, long memoryBytes,
        int windowBytes, int maxMessageBytes, Limits limits) {

    private static final long MB = 1 << 20;

    /**
     * What a peer can make this side do.
     *
     * @param queueLimit requests that wait for an agent's thread
     * @param callLimit requests of one connection without an answer
     * @param handshakeLimit for a new connection, from the first byte to the last proof
     * @param stallLimit after which a peer that takes nothing is given up
     * @param pendingHandshakeLimit connections that have not proved the secret yet
     */
    public record Limits(int queueLimit, int callLimit, Duration handshakeLimit, Duration stallLimit,
            int pendingHandshakeLimit) {
        public static final Limits DEFAULTS = new Limits(4096, 1024, Duration.ofSeconds(10), Duration.ofSeconds(30), 256);
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
        if (maxMessageBytes > memoryBytes / 4)
            throw new IllegalArgumentException("maxMessageBytes: " + maxMessageBytes + " is more than a quarter of memoryBytes ("
                    + memoryBytes + "): give more memory or shorter messages");
    }

    private static void check(String name, long value, long min, long max) {
        if (value < min || value > max)
            throw new IllegalArgumentException(name + ": " + value + " is not between " + min + " and " + max);
    }

    /** What holds where the user sets nothing. */
    public static WireSettings defaults() {
        return new WireSettings(Optional.empty(), Transports.ANY, Idling.EVENT, 256 * MB, (int) (4 * MB), (int) (64 * MB),
                Limits.DEFAULTS);
    }

    public WireSettings withSecret(Secret known) {
        return new WireSettings(Optional.of(known), transports, idling, memoryBytes, windowBytes, maxMessageBytes, limits);
    }

    public WireSettings withTransports(Transports wanted) {
        return new WireSettings(secret, wanted, idling, memoryBytes, windowBytes, maxMessageBytes, limits);
    }

    public WireSettings withIdling(IdleStrategy wanted) {
        return new WireSettings(secret, transports, wanted, memoryBytes, windowBytes, maxMessageBytes, limits);
    }

    public WireSettings withMemory(long memory, int window, int maxMessage) {
        return new WireSettings(secret, transports, idling, memory, window, maxMessage, limits);
    }

    public WireSettings withLimits(Limits wanted) {
        return new WireSettings(secret, transports, idling, memoryBytes, windowBytes, maxMessageBytes, wanted);
    }
}
