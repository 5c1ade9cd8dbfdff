package io.hearth.transport;

/** A connection's way to its peer; used on its agent's thread alone. */
interface Link {

    /** Sends a frame that is written; the buffer is closed when the carrier is done with it. */
    void send(Buffer frame, int payload);

    /** Whether something that was sent has not been taken yet. */
    boolean unsent();

    void close();
}
