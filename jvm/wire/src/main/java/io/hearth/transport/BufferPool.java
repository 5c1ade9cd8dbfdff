package io.hearth.transport;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Memory outside the heap for messages, in sizes of powers of two, registered with the transport once for
 * many messages. Its limit is enforced: what does not fit is not given out.
 *
 * <p>A chunk holds buffers of one size. A chunk without a used buffer is freed when another size needs
 * its room. Any thread may use it.
 */
final class BufferPool implements AutoCloseable {
    private static final int MIN_SHIFT = 9;
    private static final int MAX_SHIFT = 30;
    private static final int CHUNK_BYTES = 1 << 18;
    private static final int ALIGNMENT = 64;

    /** After the JVM had none: each further try costs it half a second and a full collection. */
    private static final long LACKS_NS = 10_000_000_000L;

    /**
     * What memory is for. A later use may go nearer to the limit: answers pass where requests do not, and those that
     * arrive where those that leave do not, so that two sides never wait for each other.
     */
    enum Use {
        /** A request that comes and is longer than a window. */
        LONG_REQUEST(9), REQUEST(12), ANSWER(14), ARRIVING_ANSWER(15), CONTROL(16);

        private final int sixteenths;

        Use(int sixteenths) {
            this.sixteenths = sixteenths;
        }
    }

    /** How much of the pool one owner may have; a single buffer always. The pool alone touches it. */
    static final class Share {
        private final long limitBytes;
        private long usedBytes;

        Share(long limitBytes) {
            this.limitBytes = limitBytes;
        }

        private boolean allows(long bytes) {
            return usedBytes == 0 || usedBytes + bytes <= limitBytes;
        }
    }

    /** How a transport learns of memory. */
    interface Registrar {
        Registrar NONE = memory -> new Registration() { };

        Registration register(ByteBuffer memory);
    }

    /** A registration that lasts until it is closed; it may be closed twice. */
    interface Registration extends AutoCloseable {

        /** Of the first byte; 0 where the transport needs none. */
        default long address() {
            return 0;
        }

        @Override
        default void close() { }
    }

    private final long limitBytes;
    private final Registrar registrar;
    private final Consumer<String> say;
    private final Share whole = new Share(Long.MAX_VALUE);
    private final List<List<Chunk>> bySize = new ArrayList<>();
    private long reservedBytes;
    private long usedBytes;
    private int usedBuffers;
    private Optional<Chunk> reserve = Optional.empty();
    private boolean lacked;
    private long lackedNs;
    private boolean closed;

    /** @param say hears where the JVM has no memory for what the limit allows */
    BufferPool(long limitBytes, Registrar registrar, Consumer<String> say) {
        this.limitBytes = limitBytes;
        this.registrar = registrar;
        this.say = say;
        for (int shift = 0; shift <= MAX_SHIFT; shift++) bySize.add(new ArrayList<>());
        reserve = Optional.of(add(new Chunk(MIN_SHIFT)));
    }

    /** @return absent where the limit is reached, or the JVM has no memory */
    Optional<Buffer> take(int payload, Use use) {
        return take(payload, use, whole);
    }

    /** @param share to which it counts; absent where that is used up */
    synchronized Optional<Buffer> take(int payload, Use use, Share share) {
        int shift = Math.max(MIN_SHIFT, 32 - Integer.numberOfLeadingZeros(Math.max(1, payload) - 1));
        if (closed || !share.allows((1L << shift) + ALIGNMENT)) return Optional.empty();
        Chunk chunk = withRoom(shift);
        if (chunk == null && !lacks()) chunk = grow(shift, limitBytes * use.sixteenths / 16);
        return chunk == null ? Optional.empty() : Optional.of(chunk.take(payload, share));
    }

    /** Whether the JVM has just had no memory for what the limit allows: waiting for it helps nobody. */
    synchronized boolean lacks() {
        return lacked && System.nanoTime() - lackedNs < LACKS_NS;
    }

    private Chunk withRoom(int shift) {
        List<Chunk> chunks = bySize.get(shift);
        for (int i = chunks.size() - 1; i >= 0; i--) if (chunks.get(i).hasRoom()) return chunks.get(i);
        return null;
    }

    private Chunk grow(int shift, long limit) {
        int slotBytes = bytesOf(shift);
        int slots = slots(shift);
        if (reservedBytes + (long) slotBytes * slots > limit) freeUnused();
        if (reservedBytes + (long) slotBytes * slots > limit) slots = 1;
        if (reservedBytes + (long) slotBytes * slots > limit) return null;
        try {
            return add(new Chunk(shift, slots));
        } catch (OutOfMemoryError | LinkageError | RuntimeException none) {
            lacked = true;
            lackedNs = System.nanoTime();
            say.accept("the JVM has no memory for a message of " + (1L << shift) + " bytes, " + reservedBytes + " of "
                    + limitBytes + " are used (memoryBytes; -XX:MaxDirectMemorySize is the JVM's own limit): " + none);
            return null;
        }
    }

    private Chunk add(Chunk chunk) {
        bySize.get(chunk.shift).add(chunk);
        reservedBytes += chunk.memory.capacity();
        return chunk;
    }

    private static int bytesOf(int shift) {
        return (1 << shift) + ALIGNMENT;
    }

    private static int slots(int shift) {
        return Math.max(1, CHUNK_BYTES / bytesOf(shift));
    }

    private void freeUnused() {
        for (List<Chunk> chunks : bySize) {
            List<Chunk> unused = chunks.stream().filter(this::isUnused).toList();
            chunks.removeAll(unused);
            unused.forEach(Chunk::free);
        }
    }

    /** The reserve stays: else a side that lacks memory could not say so. */
    private boolean isUnused(Chunk chunk) {
        return chunk.used == 0 && reserve.filter(reserved -> reserved == chunk).isEmpty();
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
        reserve = Optional.empty();
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

        private Chunk(int shift) {
            this(shift, slots(shift));
        }

        private Chunk(int shift, int slots) {
            this.shift = shift;
            this.slotBytes = bytesOf(shift);
            this.free = new int[slots];
            for (int i = 0; i < slots; i++) free[i] = slots - 1 - i;
            this.memory = ByteBuffer.allocateDirect(slotBytes * slots);
            this.registration = registered(memory);
        }

        private Registration registered(ByteBuffer memory) {
            try {
                return registrar.register(memory);
            } catch (RuntimeException | Error none) {
                Direct.free(memory);
                throw none;
            }
        }

        int slotBytes() {
            return slotBytes;
        }

        private boolean hasRoom() {
            return used < free.length;
        }

        private Buffer take(int payload, Share share) {
            Buffer buffer = new Buffer(this, free[free.length - 1 - used], payload, share);
            used++;
            share.usedBytes += slotBytes;
            usedBytes += slotBytes;
            usedBuffers++;
            return buffer;
        }

        void give(int slot, Share share) {
            synchronized (BufferPool.this) {
                free[free.length - used--] = slot;
                share.usedBytes -= slotBytes;
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
