package io.hearth.transport;

import java.nio.ByteBuffer;

/**
 * The beginning of each message, the same on both transports: 32 bytes, big-endian.
 *
 * @param token which connection, by the receiver's own name for it
 * @param id which call
 * @param length bytes that follow
 * @param requestCredit bytes of requests that the other side may send beyond those of before
 * @param responseCredit the same for responses
 */
record Frame(long token, int id, int length, Kind kind, int requestCredit, int responseCredit) {
    static final int BYTES = 32;
    static final int MAX_TEXT_BYTES = 4096;

    enum Kind {
        /** BUSY: a request that was not looked at, as no memory was left for it. */
        REQUEST, RESPONSE, FAILURE, BUSY, CANCEL, CREDIT, PROBE, PROBED;

        private static final Kind[] ALL = values();

        /** Whether it asks something of the other side's memory, and needs credit. */
        boolean isMessage() {
            return ordinal() <= BUSY.ordinal();
        }
    }

    static void write(ByteBuffer to, long token, int id, int length, Kind kind, int requestCredit, int responseCredit) {
        to.putLong(0, token).putInt(8, id).putInt(12, length).putInt(16, kind.ordinal());
        to.putInt(20, requestCredit).putInt(24, responseCredit).putInt(28, 0);
    }

    /** @throws WireException where the bytes are no frame or its length is above the limit */
    static Frame read(ByteBuffer from, int at, int longest) throws WireException {
        int kind = from.getInt(at + 16);
        int length = from.getInt(at + 12);
        if (kind < 0 || kind >= Kind.ALL.length) throw broken("a frame of kind " + kind);
        if (length < 0 || length > longest)
            throw broken("a frame of " + Integer.toUnsignedString(length) + " bytes, the limit is " + longest);
        Frame frame = new Frame(from.getLong(at), from.getInt(at + 8), length, Kind.ALL[kind], from.getInt(at + 20),
                from.getInt(at + 24));
        if (frame.requestCredit < 0 || frame.responseCredit < 0) throw broken("a frame with credit below zero");
        boolean text = frame.kind == Kind.FAILURE || frame.kind == Kind.BUSY;
        if (text && length > MAX_TEXT_BYTES) throw broken("a reason of " + length + " bytes, the limit is " + MAX_TEXT_BYTES);
        if (length > 0 && !frame.kind.isMessage()) throw broken("a frame " + frame.kind + " with a payload");
        return frame;
    }

    static WireException broken(String what) {
        return new WireException(WireException.Kind.LOST, "the peer sent " + what + ": the connection is closed");
    }
}
