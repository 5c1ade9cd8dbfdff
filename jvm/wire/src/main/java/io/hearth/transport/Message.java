package io.hearth.transport;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An answer that has come. Close it when it has been read: until then the peer counts it as under way, unless it is
 * {@link #keep}t.
 */
public final class Message implements AutoCloseable {
    private final Connection connection;
    private final Buffer payload;
    private final AtomicBoolean consumed = new AtomicBoolean();

    Message(Connection connection, Buffer payload) {
        this.connection = connection;
        this.payload = payload;
    }

    /** @return what was sent; not to be used after {@link #close} */
    public ByteBuffer data() {
        return payload.data();
    }

    /** @return how much of the wire's memory it takes */
    public int memoryBytes() {
        return payload.memoryBytes();
    }

    /** Lets the peer send more, while the memory is kept until {@link #close}. Whoever keeps much starves the wire. */
    public void keep() {
        if (consumed.compareAndSet(false, true)) connection.consumed(payload.size());
    }

    @Override
    public void close() {
        payload.close();
        keep();
    }
}
