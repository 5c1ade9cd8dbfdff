package io.hearth.transport;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A request that has come. It must be answered once, by any thread, with a payload or with a failure; also where
 * it was cancelled meanwhile, since its memory is the service's until then.
 */
public final class Request {
    private final Connection connection;
    private final Buffer payload;
    private final AtomicBoolean answered = new AtomicBoolean();
    final int id;
    private volatile boolean cancelled;

    Request(Connection connection, int id, Buffer payload) {
        this.connection = connection;
        this.id = id;
        this.payload = payload;
    }

    /** @return what was sent; not to be used after the answer */
    public ByteBuffer data() {
        return payload.data();
    }

    public Connection connection() {
        return connection;
    }

    /**
     * Memory for the answer, of which a peer that does not take its answers has a share only.
     *
     * @throws WireException BUSY where the memory, or this peer's share of it, is used up
     */
    public Buffer buffer(int bytes) throws WireException {
        return connection.answerBuffer(bytes);
    }

    /** Whether nobody waits for the answer any more. An answer is still allowed, and dropped. */
    public boolean cancelled() {
        return cancelled;
    }

    /** @param response of {@link #buffer}; it is handed over */
    public void respond(Buffer response) {
        respond(response, List.of());
    }

    /**
     * @param response as above
     * @param files handed over, sent behind it; where the connection does not {@link Connection#sendsFiles}, or all is
     *     longer than {@link Connection#maxMessageBytes}, the request fails with that reason
     */
    public void respond(Buffer response, List<FilePart> files) {
        long bytes = response.size() + files.stream().mapToLong(FilePart::bytes).sum();
        boolean sendable = files.isEmpty() || connection.sendsFiles() && bytes <= connection.maxMessageBytes();
        if (sendable && answered.compareAndSet(false, true)) answer(Optional.of(response), files, Frame.Kind.RESPONSE);
        else {
            response.close();
            files.forEach(FilePart::close);
            if (!sendable) fail("an answer of " + bytes + " bytes with parts of files: over " + connection.transport()
                    + " it has " + (connection.sendsFiles() ? connection.maxMessageBytes() + " at most" : "none"));
        }
    }

    /** @param because one line for the caller; cut at 4096 bytes */
    public void fail(String because) {
        if (answered.compareAndSet(false, true)) answer(connection.text(because), List.of(), Frame.Kind.FAILURE);
    }

    private void answer(Optional<Buffer> response, List<FilePart> files, Frame.Kind kind) {
        payload.close();
        connection.answered(this, response, files, kind);
    }

    /** On the connection's thread: the peer gave it up, or is gone. */
    void cancel() {
        cancelled = true;
    }

    int size() {
        return payload.size();
    }
}
