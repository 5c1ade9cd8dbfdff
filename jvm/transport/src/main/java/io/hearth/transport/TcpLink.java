package io.hearth.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/** Frames on a socket. */
final class TcpLink implements Link, TcpAgent.Attached {
    private static final int ROUNDS = 16;
    private static final int DIRECT_BYTES = 1 << 12;
    private static final int TOGETHER = 16;

    private final TcpAgent agent;
    private final SocketChannel channel;
    private final Connection connection;
    private final long token;
    private final Deque<Leaving> leaving = new ArrayDeque<>();
    private final ByteBuffer head = ByteBuffer.allocate(Frame.BYTES);
    private Optional<Frame> frame = Optional.empty();
    private Optional<Buffer> payload = Optional.empty();
    private Optional<ByteBuffer> filling = Optional.empty();
    private Optional<ByteBuffer> leftOver = Optional.empty();
    private boolean closed;

    /** A frame on its way: its bytes, then parts of files. */
    private record Leaving(Buffer buffer, ByteBuffer bytes, Deque<FilePart> files) {
        boolean isSent() {
            return !bytes.hasRemaining() && files.isEmpty();
        }

        long sendFile(SocketChannel to) throws IOException {
            long count = files.peek().send(to);
            if (files.peek().isSent()) files.poll().close();
            return count;
        }

        void close() {
            buffer.close();
            files.forEach(FilePart::close);
        }
    }

    TcpLink(TcpAgent agent, SocketChannel channel, Connection connection, long token) {
        this.agent = agent;
        this.channel = channel;
        this.connection = connection;
        this.token = token;
    }

    // --- what goes ---

    @Override
    public void send(Buffer buffer, List<FilePart> files) {
        Leaving frame = new Leaving(buffer, buffer.whole(), new ArrayDeque<>(files));
        if (closed) {
            frame.close();
            return;
        }
        leaving.add(frame);
        try {
            if (leaving.size() == 1) write();
        } catch (IOException e) {
            agent.queue.must(() -> connection.lost(e.getMessage()));
        }
    }

    private void write() throws IOException {
        while (!leaving.isEmpty() && !closed) {
            Leaving first = leaving.peek();
            long count = !first.bytes.hasRemaining() ? first.sendFile(channel)
                    : leaving.size() == 1 ? channel.write(first.bytes) : channel.write(together());
            if (count > 0) connection.moved();
            while (!leaving.isEmpty() && leaving.peek().isSent()) leaving.poll().close();
            if (count == 0) break;
        }
        SelectionKey key = agent.key(channel);
        if (key != null && key.isValid()) interest(key);
    }

    /** As many frames as may go in one call, up to the first that goes on in a file. */
    private ByteBuffer[] together() {
        List<ByteBuffer> bytes = new ArrayList<>(TOGETHER);
        for (Leaving frame : leaving) {
            bytes.add(frame.bytes);
            if (bytes.size() == TOGETHER || !frame.files.isEmpty()) break;
        }
        return bytes.toArray(ByteBuffer[]::new);
    }

    private void interest(SelectionKey key) {
        int wanted = (leaving.isEmpty() ? 0 : SelectionKey.OP_WRITE) | (leftOver.isPresent() ? 0 : SelectionKey.OP_READ);
        if (key.interestOps() != wanted) key.interestOps(wanted);
    }

    @Override
    public boolean unsent() {
        return !leaving.isEmpty();
    }

    // --- what comes ---

    @Override
    public void ready(SelectionKey key) throws IOException {
        if (key.isWritable()) write();
        if (key.isValid() && key.isReadable()) read(key);
    }

    private void read(SelectionKey key) throws IOException {
        for (int round = 0; round < ROUNDS && !closed && leftOver.isEmpty(); round++) {
            boolean straight = filling.isPresent() && filling.get().remaining() >= DIRECT_BYTES;
            ByteBuffer into = straight ? filling.get() : agent.readBuffer();
            int count = channel.read(into);
            if (count < 0) throw new IOException("the peer closed the connection");
            if (count == 0) return;
            if (straight) complete();
            else take(into.flip());
            if (!straight && into.limit() < into.capacity()) return;
        }
        if (!closed) interest(key);
    }

    /** What came behind the handshake. */
    void begin(ByteBuffer first) throws IOException {
        take(first);
    }

    private void take(ByteBuffer from) throws IOException {
        while (from.hasRemaining() && !closed) {
            if (frame.isEmpty()) header(from);
            if (frame.isEmpty()) continue;
            if (filling.isEmpty() && !room()) {
                leftOver = Optional.of(ByteBuffer.allocate(from.remaining()).put(from).flip());
                return;
            }
            filling.ifPresent(to -> move(from, to));
            complete();
        }
    }

    /** Leaves {@link #frame} absent where more bytes are needed, or where the frame has no payload and is done. */
    private void header(ByteBuffer from) throws WireException {
        move(from, head);
        if (head.hasRemaining()) return;
        Frame begun = Frame.read(head, 0, agent.settings().longestBytes());
        if (begun.token() != token) throw Frame.broken("a frame of another connection");
        head.clear();
        frame = Optional.of(begun);
        if (begun.length() == 0) complete();
    }

    /** @return whether there is memory for the payload */
    private boolean room() {
        payload = agent.pool().take(frame.orElseThrow().length(), BufferPool.Use.RECEIVE);
        filling = payload.map(Buffer::data);
        if (payload.isEmpty()) agent.starved(this);
        return payload.isPresent();
    }

    private static void move(ByteBuffer from, ByteBuffer to) {
        int count = Math.min(from.remaining(), to.remaining());
        to.put(to.position(), from, from.position(), count).position(to.position() + count);
        from.position(from.position() + count);
    }

    private void complete() {
        if (frame.isEmpty() || filling.map(ByteBuffer::hasRemaining).orElse(frame.get().length() > 0)) return;
        Frame whole = frame.get();
        Optional<Buffer> content = payload;
        frame = Optional.empty();
        payload = Optional.empty();
        filling = Optional.empty();
        connection.received(whole, content);
    }

    /** There may be memory again. */
    void feed() {
        if (closed || !room()) return;
        agent.fed(this);
        ByteBuffer from = leftOver.orElseThrow();
        leftOver = Optional.empty();
        try {
            take(from);
            SelectionKey key = agent.key(channel);
            if (!closed && key != null && key.isValid()) interest(key);
        } catch (IOException e) {
            close(e.getMessage());
        }
    }

    // --- the end ---

    /** By the selector: the socket has failed. */
    @Override
    public void close(String because) {
        connection.lost(because);
    }

    @Override
    public void close() {
        if (closed) return;
        closed = true;
        agent.fed(this);
        TcpAgent.closeQuietly(channel);
        leaving.forEach(Leaving::close);
        leaving.clear();
        payload.ifPresent(Buffer::close);
        payload = Optional.empty();
        filling = Optional.empty();
        leftOver = Optional.empty();
    }
}
