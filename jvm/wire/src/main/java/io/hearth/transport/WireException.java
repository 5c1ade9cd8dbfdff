package io.hearth.transport;

import java.io.IOException;

/** Why a message did not get through; its message is one line for the user. */
public final class WireException extends IOException {
    private static final long serialVersionUID = 1;

    /** What a caller can do about it differs by kind. */
    public enum Kind {
        /** The two sides do not agree: secret, version. Trying again does not help. */
        REFUSED,
        /** A limit of this side is reached: try again later. */
        BUSY,
        /** No answer within the time given. */
        TIMED_OUT,
        /** The connection has ended. */
        LOST,
        /** The other side's service failed; the message is its own. */
        FAILED
    }

    private final Kind kind;

    public WireException(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    public Kind kind() {
        return kind;
    }
}
