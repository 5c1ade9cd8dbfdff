package io.hearth.transport;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/** An answer that has come. Close it when it has been read: until then the peer counts it as under way. */
public final class Message implements AutoCloseable {
    private final Connection connection;
    private final Buffer payload;
    private final AtomicBoolean closed = new AtomicBoolean();

    Message(Connection connection, Buffer payload) {
        this.connection = connection;
        this.payload = payload;
    }

    /** @return what was sent; not to be used after {@link #close} */
    public ByteBuffer data() {
        return payload.data();
    }

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) return;
        payload.close();
        connection.consumed(payload.size());
    }
}
