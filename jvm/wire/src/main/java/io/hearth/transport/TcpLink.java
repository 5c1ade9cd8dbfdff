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
    private static final int STEP_BYTES = 1 << 20;

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
    private int came;
    private int cameBefore;
    private boolean passingOver;
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
            if (straight) moved(count);
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
            if (passingOver) {
                int passed = Math.min(from.remaining(), frame.get().length() - came);
                from.position(from.position() + passed);
                moved(passed);
            } else if (filling.filter(ByteBuffer::hasRemaining).isPresent() || room()) {
                moved(move(from, filling.orElseThrow()));
            } else if (!passingOver) {
                leftOver = Optional.of(ByteBuffer.allocate(from.remaining()).put(from).flip());
                return;
            }
        }
    }

    /** Leaves {@link #frame} absent where more bytes are needed, or where the frame has no payload and is done. */
    private void header(ByteBuffer from) throws WireException {
        move(from, head);
        if (head.hasRemaining()) return;
        Frame begun = Frame.read(head, 0, agent.settings().maxMessageBytes());
        if (begun.token() != token) throw Frame.broken("a frame of another connection");
        connection.admit(begun);
        head.clear();
        frame = Optional.of(begun);
        moved(0);
    }

    /**
     * Memory for the payload: a window at first, then four times what has come. So whoever announces much and sends
     * little has little.
     *
     * @return false where there is none, and it is waited for or the rest of the message is passed over
     */
    private boolean room() {
        Frame begun = frame.orElseThrow();
        boolean isRequest = begun.kind() == Frame.Kind.REQUEST;
        int window = agent.settings().windowBytes();
        long most = isRequest ? Math.max(window, 4L * came) : begun.length();
        int bytes = (int) Math.min(begun.length(), most);
        BufferPool.Use use = !isRequest ? BufferPool.Use.ARRIVING_ANSWER
                : bytes > window ? BufferPool.Use.LONG_REQUEST : BufferPool.Use.REQUEST;
        Optional<Buffer> more = agent.pool().take(bytes, use);
        if (more.isPresent()) grow(more.get());
        else if (use == BufferPool.Use.LONG_REQUEST || agent.pool().lacks()) passOver();
        else agent.starved(this);
        return more.isPresent();
    }

    private void grow(Buffer more) {
        ByteBuffer into = more.data();
        payload.ifPresent(had -> {
            into.put(had.data());
            had.close();
        });
        payload = Optional.of(more);
        filling = Optional.of(into);
    }

    private void passOver() {
        passingOver = true;
        payload.ifPresent(Buffer::close);
        payload = Optional.empty();
        filling = Optional.empty();
    }

    /** @return how many bytes */
    private static int move(ByteBuffer from, ByteBuffer to) {
        int count = Math.min(from.remaining(), to.remaining());
        to.put(to.position(), from, from.position(), count).position(to.position() + count);
        from.position(from.position() + count);
        return count;
    }

    /** So many bytes more of the payload have come. A message moves by a sixteenth or by a megabyte, not by a byte. */
    private void moved(int bytes) {
        Frame whole = frame.orElseThrow();
        came += bytes;
        if (came == 0 || came - cameBefore >= Math.min(STEP_BYTES, whole.length() / 16)) {
            connection.came();
            cameBefore = came;
        }
        if (came < whole.length()) return;
        Optional<Buffer> content = payload;
        boolean passedOver = passingOver;
        frame = Optional.empty();
        payload = Optional.empty();
        filling = Optional.empty();
        passingOver = false;
        came = 0;
        cameBefore = 0;
        if (passedOver) connection.passedOver(whole);
        else connection.received(whole, content);
    }

    @Override
    public boolean awaitsRest() {
        return !closed && leftOver.isEmpty() && (frame.isPresent() || head.position() > 0);
    }

    /** There may be memory again. */
    void feed() {
        if (closed || !room() && !passingOver) return;
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
