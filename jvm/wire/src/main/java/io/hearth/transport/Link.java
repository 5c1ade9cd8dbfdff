package io.hearth.transport;

import java.util.List;

/** A connection's way to its peer; used on its agent's thread alone. */
interface Link {

    /**
     * Sends a frame that is written; what it gets is closed when the transport is done with it.
     *
     * @param files behind the buffer's bytes; none where the connection does not {@link Connection#sendsFiles}
     */
    void send(Buffer frame, List<FilePart> files);

    /** Whether something that was sent has not been taken yet. */
    boolean unsent();

    /** Whether the rest of something that has begun to come is the peer's to send. */
    boolean awaitsRest();

    void close();
}
