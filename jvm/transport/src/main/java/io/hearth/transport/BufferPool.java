package io.hearth.transport;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Memory outside the heap for messages, in sizes of powers of two, registered with the carrier once for
 * many messages. Its limit is enforced: what does not fit is not given out.
 *
 * <p>A chunk holds buffers of one size. A chunk without a used buffer is freed when another size needs
 * its room. Any thread may use it.
 */
final class BufferPool implements AutoCloseable {
    private static final int SMALLEST_SHIFT = 9;
    private static final int LARGEST_SHIFT = 30;
    private static final int CHUNK_BYTES = 1 << 18;
    private static final int ALIGNMENT = 64;

    /** What memory is for. A later use may go nearer to the limit, so that answers pass where requests do not. */
    enum Use {
        SEND(12), RECEIVE(15), CONTROL(16);

        private final int sixteenths;

        Use(int sixteenths) {
            this.sixteenths = sixteenths;
        }
    }

    /** How a carrier learns of memory. */
    interface Registrar {
        Registrar NONE = memory -> new Registration() { };

        Registration register(ByteBuffer memory);
    }

    /** A registration that lasts until it is closed; it may be closed twice. */
    interface Registration extends AutoCloseable {

        /** Of the first byte; 0 where the carrier needs none. */
        default long address() {
            return 0;
        }

        @Override
        default void close() { }
    }

    private final long limitBytes;
    private final Registrar registrar;
    private final List<List<Chunk>> bySize = new ArrayList<>();
    private long reservedBytes;
    private long usedBytes;
    private int usedBuffers;
    private boolean closed;

    BufferPool(long limitBytes, Registrar registrar) {
        this.limitBytes = limitBytes;
        this.registrar = registrar;
        for (int shift = 0; shift <= LARGEST_SHIFT; shift++) bySize.add(new ArrayList<>());
    }

    /** @return absent where the limit is reached */
    synchronized Optional<Buffer> take(int payload, Use use) {
        if (closed) return Optional.empty();
        int shift = Math.max(SMALLEST_SHIFT, 32 - Integer.numberOfLeadingZeros(Math.max(1, payload) - 1));
        Chunk chunk = withRoom(shift);
        if (chunk == null) chunk = grow(shift, limitBytes * use.sixteenths / 16);
        return chunk == null ? Optional.empty() : Optional.of(chunk.take(payload));
    }

    private Chunk withRoom(int shift) {
        List<Chunk> chunks = bySize.get(shift);
        for (int i = chunks.size() - 1; i >= 0; i--) if (chunks.get(i).hasRoom()) return chunks.get(i);
        return null;
    }

    private Chunk grow(int shift, long limit) {
        int slotBytes = (1 << shift) + ALIGNMENT;
        int slots = Math.max(1, CHUNK_BYTES / slotBytes);
        long bytes = (long) slotBytes * slots;
        if (reservedBytes + bytes > limit) freeUnused();
        if (reservedBytes + bytes > limit) {
            slots = 1;
            bytes = slotBytes;
        }
        if (reservedBytes + bytes > limit) return null;
        Chunk chunk = new Chunk(shift, slotBytes, slots);
        bySize.get(shift).add(chunk);
        reservedBytes += bytes;
        return chunk;
    }

    private void freeUnused() {
        for (List<Chunk> chunks : bySize) {
            for (Chunk chunk : chunks) if (chunk.used == 0) chunk.free();
            chunks.removeIf(chunk -> chunk.used == 0);
        }
    }

    synchronized long usedBytes() {
        return usedBytes;
    }

    synchronized int usedBuffers() {
        return usedBuffers;
    }

    synchronized long reservedBytes() {
        return reservedBytes;
    }

    long limitBytes() {
        return limitBytes;
    }

    /** Frees all; a buffer that is still used keeps its memory until it is given back, but no registration. */
    @Override
    public synchronized void close() {
        closed = true;
        bySize.forEach(chunks -> chunks.forEach(chunk -> chunk.registration.close()));
        freeUnused();
    }

    /** Buffers of one size in one piece of memory. */
    final class Chunk {
        private final int shift;
        private final int slotBytes;
        private final ByteBuffer memory;
        private final Registration registration;
        private final int[] free;
        private int used;

        private Chunk(int shift, int slotBytes, int slots) {
            this.shift = shift;
            this.slotBytes = slotBytes;
            this.memory = ByteBuffer.allocateDirect(slotBytes * slots);
            this.registration = registrar.register(memory);
            this.free = new int[slots];
            for (int i = 0; i < slots; i++) free[i] = slots - 1 - i;
        }

        int slotBytes() {
            return slotBytes;
        }

        private boolean hasRoom() {
            return used < free.length;
        }

        private Buffer take(int payload) {
            int slot = free[free.length - 1 - used++];
            usedBytes += slotBytes;
            usedBuffers++;
            return new Buffer(this, slot, payload);
        }

        void give(int slot) {
            synchronized (BufferPool.this) {
                free[free.length - used--] = slot;
                usedBytes -= slotBytes;
                usedBuffers--;
                if (!closed || used > 0) return;
                bySize.get(shift).remove(this);
                free();
            }
        }

        ByteBuffer view(int slot, int from, int bytes) {
            return memory.slice(slot * slotBytes + from, bytes);
        }

        long address(int slot) {
            return registration.address() == 0 ? 0 : registration.address() + (long) slot * slotBytes;
        }

        private void free() {
            registration.close();
            reservedBytes -= memory.capacity();
            Direct.free(memory);
        }
    }

    /** Gives the memory of a direct buffer back now, not when the collector finds it: else the limit were none. */
    private static final class Direct {
        private static final Method CLEAN;
        private static final Object UNSAFE;

        static {
            try {
                Class<?> unsafe = Class.forName("sun.misc.Unsafe");
                Field instance = unsafe.getDeclaredField("theUnsafe");
                instance.setAccessible(true);
                UNSAFE = instance.get(null);
                CLEAN = unsafe.getMethod("invokeCleaner", ByteBuffer.class);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        static void free(ByteBuffer memory) {
            try {
                CLEAN.invoke(UNSAFE, memory);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("a direct buffer could not be freed", e);
            }
        }
    }
}
