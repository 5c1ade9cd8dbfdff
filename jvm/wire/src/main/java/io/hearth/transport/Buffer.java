package io.hearth.transport;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A piece of the pool's memory: room for a frame's beginning, then the payload.
 *
 * <p>It has one owner at a time. Handing it to a request or a response hands over the ownership; whoever
 * else has it closes it, once.
 */
public final class Buffer implements AutoCloseable {
    private final BufferPool.Chunk chunk;
    private final int slot;
    private final int payload;
    private final BufferPool.Share share;
    private final AtomicBoolean closed = new AtomicBoolean();

    Buffer(BufferPool.Chunk chunk, int slot, int payload, BufferPool.Share share) {
        this.share = share;
        this.chunk = chunk;
        this.slot = slot;
        this.payload = payload;
    }

    /** @return the payload, all of it, big-endian; each call makes another view */
    public ByteBuffer data() {
        if (closed.get()) throw new IllegalStateException("this buffer was handed over or closed already");
        return chunk.view(slot, Frame.BYTES, payload);
    }

    public int size() {
        return payload;
    }

    /** What it takes of the pool. */
    int memoryBytes() {
        return chunk.slotBytes();
    }

    /** Beginning and payload. */
    ByteBuffer whole() {
        return chunk.view(slot, 0, Frame.BYTES + payload);
    }

    /** Where the frame begins in memory; the payload follows. 0 where no transport needs addresses. */
    long address() {
        return chunk.address(slot);
    }

    /** Gives the memory back. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) chunk.give(slot, share);
    }
}
