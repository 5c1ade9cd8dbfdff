package io.hearth.transport;

import java.util.List;

/** A connection's way to its peer; used on its agent's thread alone. */
interface Link {

    /** Sends a frame that is written; the buffer is closed when the carrier is done with it. */
    void send(Buffer frame, int payload);

    /** The same, with parts of files behind the buffer's bytes; only where {@link Connection#sendsFiles}. */
    default void send(Buffer frame, List<FilePart> files) {
        throw new UnsupportedOperationException("this carrier sends no files");
    }

    /** Whether something that was sent has not been taken yet. */
    boolean unsent();

    void close();
}
