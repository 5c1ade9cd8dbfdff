package io.hearth.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.openucx.jucx.UcxCallback;
import org.openucx.jucx.UcxException;
import org.openucx.jucx.UcxUtils;
import org.openucx.jucx.ucp.UcpAmData;
import org.openucx.jucx.ucp.UcpConstants;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpEndpoint;
import org.openucx.jucx.ucp.UcpEndpointParams;
import org.openucx.jucx.ucp.UcpRequest;
import org.openucx.jucx.ucp.UcpWorker;
import org.openucx.jucx.ucp.UcpWorkerParams;
import org.openucx.jucx.ucs.UcsConstants;

/**
 * Owns a UCX worker and its endpoints. A frame is an active message: its beginning is UCX's header, its
 * payload UCX's data. UCX itself takes the rendezvous for large ones; memory for those is taken from the pool
 * before UCX moves a byte.
 *
 * <p>UCX calls back out of {@link UcpWorker#progress}: what it brings is kept, and handled afterwards. No
 * exception may pass through its C code.
 */
final class UcxAgent extends EndpointAgent {
    private static final int AM_ID = 7;
    private static final int PROGRESS_ROUNDS = 64;
    private static final long PROBE_LIMIT_NS = 5_000_000_000L;
    private static final long CLOSE_LIMIT_NS = 2_000_000_000L;
    /** A second and more; time in which this thread was not run does not count. */
    private static final int SENTINEL_LOOKS = 100;
    private static final long SLEEPLESS_NS = 10_000;
    private static final int SLEEPLESS_ROUNDS = 20;
    private static final long PAUSE_NS = 20_000;

    private final UcpContext context;
    private final UcxReach reach;
    private final boolean rdma;
    private final Map<Long, UcxLink> links = new HashMap<>();
    private final Deque<Arrival> arrived = new ArrayDeque<>();
    private final Deque<Waiting> waitingForMemory = new ArrayDeque<>();
    private final List<UcpRequest> closing = new ArrayList<>();
    private Unconnected unconnected = new Unconnected();
    private final Map<UcxLink, Probe> probes = new HashMap<>();
    private final Object workerLock = new Object();
    private UcpWorker worker;
    private UcxFifoProbe sentinel;
    private volatile byte[] address;
    private volatile State state = State.RUNNING;
    private int sentinelLooks;
    private Runnable timer = () -> { };
    private int sleepless;
    private boolean heard;
    private Optional<Throwable> fault = Optional.empty();
    private boolean leavesWorker;
    private int stuck;
    private volatile int endpoints;
    private volatile int inFlight;

    private enum State {
        RUNNING,
        /** The sentinel's message is on its way to the worker. */
        CHECKING,
        /** As above, and another is due behind it. */
        CHECKING_AGAIN,
        /** The worker is being replaced; where there is no room for another, it stays so. */
        RENEWING,
        /** UCX has failed: what it still does with its memory is not known. */
        BROKEN,
        ENDED;

        boolean isChecking() {
            return this == CHECKING || this == CHECKING_AGAIN;
        }
    }

    private record Arrival(UcxLink link, Optional<Frame> frame, Optional<Buffer> payload, String failure) { }

    private record Waiting(UcxLink link, Frame frame, UcpAmData data) { }

    private record Probe(Tried tried, Connection.ConnectionParameters parameters, Service service, long deadlineNs) { }

    UcxAgent(WireSettings settings, BufferPool pool, LongSupplier clockNs, UcpContext context, UcxReach reach, OnceLog log) {
        super(settings, pool, clockNs, log);
        this.context = context;
        this.reach = reach;
        this.rdma = Ucx.rdma();
        beginWithinRoom();
    }

    private void begin() {
        UcpWorker fresh = context.newWorker(new UcpWorkerParams());
        try {
            fresh.setAmRecvHandler(AM_ID, (header, size, data, reply) -> received(header, size, data),
                    UcpConstants.UCP_AM_FLAG_PERSISTENT_DATA);
            sentinel = new UcxFifoProbe(context, fresh);
        } catch (RuntimeException | Error e) {
            fresh.close();
            throw e;
        }
        worker = fresh;
        unconnected = new Unconnected();
        heard = false;
        ByteBuffer workers = worker.getAddress();
        ByteBuffer addressed = ByteBuffer.allocate(UcxReach.BYTES + workers.remaining());
        reach.write(addressed);
        address = addressed.put(workers).array();
    }

    @Override
    void setTimer(Runnable wake) {
        timer = wake;
    }

    @Override
    public void active(int change) {
        super.active(change);
        if (change > 0 && activeConnections() == 1) timer.run();
    }

    // --- any thread ---

    @Override
    byte[] address() {
        return address;
    }

    @Override
    int endpoints() {
        return endpoints;
    }

    @Override
    int inFlight() {
        return inFlight;
    }

    // --- this thread: connections ---

    @Override
    Optional<String> serve(Connection.ConnectionParameters parameters, byte[] peer, Service service, Runnable ended) {
        try {
            open(link(parameters, peer, ended), parameters, service);
            return Optional.empty();
        } catch (UcxException e) {
            return Optional.of(e.getMessage());
        }
    }

    private Connection open(UcxLink link, Connection.ConnectionParameters parameters, Service service) {
        Connection connection = new Connection(parameters, this, service);
        add(connection);
        link.connection = Optional.of(connection);
        connection.open(link);
        return connection;
    }

    @Override
    void probe(Connection.ConnectionParameters parameters, byte[] given, byte[] peer, Service service, Runnable ended, Tried tried) {
        if (given != address) {
            tried.startAgain();
            return;
        }
        try {
            UcxLink link = link(parameters, peer, ended);
            probes.put(link, new Probe(tried, parameters, service, nowNs() + PROBE_LIMIT_NS));
            active(1);
            control(link, Frame.Kind.PROBE);
        } catch (UcxException e) {
            tried.done(Optional.empty(), "UCX cannot reach the peer: " + e.getMessage());
        }
    }

    private UcxLink link(Connection.ConnectionParameters parameters, byte[] peer, Runnable ended) {
        if (hasEnded()) throw new UcxException("this side has ended");
        ByteBuffer addressed = ByteBuffer.wrap(peer);
        if (peer.length < UcxReach.BYTES || reach.reachesButDoesNotWake(UcxReach.read(addressed)))
            throw new UcxException("it is in another network namespace, where UCX cannot wake it");
        UcxLink link = new UcxLink(parameters.token(), parameters.peerToken(), ended);
        ByteBuffer direct = ByteBuffer.allocateDirect(addressed.remaining()).put(addressed).flip();
        link.endpoint = worker.newEndpoint(new UcpEndpointParams().setUcpAddress(direct).setPeerErrorHandlingMode()
                .setErrorHandler((endpoint, status, text) -> insideUcx(() -> failed(link, text))));
        endpoints++;
        links.put(link.token, link);
        return link;
    }

    @Override
    boolean knows(long token) {
        return links.containsKey(token);
    }

    @Override
    void drop(long token, String because) {
        UcxLink link = links.get(token);
        if (link != null) fail(link, because);
    }

    private void fail(UcxLink link, String because) {
        if (link.connection.isPresent()) link.connection.get().lost(because);
        else link.close();
        Probe probe = probes.remove(link);
        if (probe == null) return;
        active(-1);
        probe.tried.done(Optional.empty(), "UCX does not reach the peer: " + because);
    }

    // --- this thread: the loop ---

    @Override
    int carry() {
        int done = 0;
        for (int round = 0; round < PROGRESS_ROUNDS; round++) {
            int count = progress();
            done += count;
            if (count == 0) break;
        }
        done += handle();
        if (!waitingForMemory.isEmpty()) done += feed();
        unconnected.overs().forEach(endpoint -> closing.add(endpoint.closeNonBlockingForce()));
        if (!closing.isEmpty()) reap();
        if (state.isChecking()) watch();
        return done;
    }

    /** A peer may be gone in the middle of a message. */
    private void suspect() {
        switch (state) {
            case RUNNING -> {
                state = State.CHECKING;
                sentinelLooks = 0;
                active(1);
                sentinel.send();
            }
            case CHECKING -> state = State.CHECKING_AGAIN;
            default -> { }
        }
    }

    private void watch() {
        try {
            if (!sentinel.arrived()) return;
        } catch (Exception e) {
            throw new IllegalStateException("UCX failed: " + e.getMessage(), e);
        }
        boolean again = state == State.CHECKING_AGAIN;
        state = State.RUNNING;
        active(-1);
        if (again) suspect();
    }

    /** With another worker: to the peers all connections over UCX end, and can be made again. */
    void renew() {
        String because = "a peer that was killed has left UCX's shared memory blocked: connect again";
        if (state.isChecking()) active(-1);
        state = State.RENEWING;
        List<Probe> interrupted = List.copyOf(probes.values());
        probes.clear();
        active(-interrupted.size());
        try {
            endLinks(because);
            settle();
            synchronized (workerLock) {
                retire(() -> { });
                beginWithinRoom();
            }
            state = State.RUNNING;
        } finally {
            interrupted.forEach(probe -> probe.tried.startAgain());
        }
        log().once("blocked", "a peer that was killed has left UCX's shared memory blocked: its other connections end too"
                + ", and new ones use other memory");
    }

    /**
     * Nobody progresses the worker any more. It is left to the end of the process where RDMA may not have connected an
     * endpoint of it, and where it still has a message, whose end would come to another thread.
     *
     * @param after what is closed behind it
     */
    private void retire(Runnable after) {
        closing.clear();
        endpoints = links.size();
        boolean mayClose = inFlight == stuck && (!rdma || heard && !unconnected.any());
        stuck = inFlight;
        leavesWorker |= !mayClose;
        if (!mayClose) return;
        UcpWorker over = worker;
        UcxFifoProbe overs = sentinel;
        RetiredWorkers.keep(() -> {
            overs.close();
            over.close();
            after.run();
        });
    }

    private void beginWithinRoom() {
        while (true) {
            try {
                begin();
                return;
            } catch (UcxException noRoom) {
                if (!RetiredWorkers.closeOldest()) throw noRoom;
            }
        }
    }

    private int progress() {
        int count;
        try {
            count = worker.progress();
        } catch (Exception e) {
            if (state == State.RUNNING || state.isChecking()) state = State.BROKEN;
            throw new IllegalStateException("UCX failed: " + e.getMessage(), e);
        }
        if (fault.isEmpty()) return count;
        Throwable inside = fault.get();
        fault = Optional.empty();
        throw new IllegalStateException("in a callback of UCX: " + inside, inside);
    }

    private int handle() {
        int done = 0;
        for (Arrival arrival = arrived.poll(); arrival != null; arrival = arrived.poll()) {
            done++;
            if (arrival.frame.isEmpty()) fail(arrival.link, arrival.failure);
            else take(arrival.link, arrival.frame.get(), arrival.payload);
        }
        return done;
    }

    private void take(UcxLink link, Frame frame, Optional<Buffer> payload) {
        if (frame.kind() == Frame.Kind.PROBE) control(link, Frame.Kind.PROBED);
        else if (frame.kind() == Frame.Kind.PROBED) probed(link);
        else if (link.connection.isPresent() && payload.isEmpty() && frame.length() > 0)
            link.connection.get().passedOver(frame);
        else if (link.connection.isPresent()) link.connection.get().received(frame, payload);
        else payload.ifPresent(Buffer::close);
    }

    private void probed(UcxLink link) {
        Probe probe = probes.remove(link);
        if (probe == null) return;
        active(-1);
        probe.tried.done(Optional.of(open(link, probe.parameters, probe.service)), "");
    }

    private void reap() {
        if (closing.removeIf(UcpRequest::isCompleted)) endpoints = links.size() + closing.size();
    }

    @Override
    void look(long nowNs) {
        for (Map.Entry<UcxLink, Probe> probe : new ArrayList<>(probes.entrySet()))
            if (nowNs - probe.getValue().deadlineNs >= 0) fail(probe.getKey(), "no answer to a probe within 5 s");
        if (state.isChecking() && ++sentinelLooks >= SENTINEL_LOOKS) renew();
    }

    @Override
    void recover(String because) {
        endLinks(because);
    }

    @Override
    boolean isBroken() {
        return state == State.BROKEN || state == State.RENEWING;
    }

    /** While UCX has something that cannot go, it does not let us sleep: then the peer needs the CPU more than we. */
    @Override
    void block() {
        long begunNs = System.nanoTime();
        worker.waitForEvents();
        sleepless = System.nanoTime() - begunNs < SLEEPLESS_NS ? sleepless + 1 : 0;
        if (sleepless > SLEEPLESS_ROUNDS) LockSupport.parkNanos(PAUSE_NS);
    }

    @Override
    void unblock() {
        synchronized (workerLock) {
            if (state != State.RENEWING && state != State.ENDED) worker.signal();
        }
    }

    @Override
    void end() {
        boolean keepsMemory = isBroken();
        state = State.ENDED;
        endLinks("this side has ended");
        queue.close();
        if (keepsMemory) return;
        settle();
        pool().close();
        synchronized (workerLock) {
            retire(leavesWorker ? () -> { } : context::close);
        }
    }

    private void endLinks(String because) {
        endConnections(because);
        for (UcxLink link : new ArrayList<>(links.values())) fail(link, because);
    }

    private void settle() {
        long endNs = System.nanoTime() + CLOSE_LIMIT_NS;
        while ((!closing.isEmpty() || inFlight > stuck) && System.nanoTime() - endNs < 0) carry();
        if (!closing.isEmpty() || inFlight > stuck)
            log().once("stuck", "UCX was closed with " + closing.size() + " endpoints and " + inFlight + " messages left");
    }

    // --- this thread: what comes; inside UCX ---

    private int received(long headerAddress, long headerBytes, UcpAmData data) {
        Optional<UcxLink> link = Optional.empty();
        try {
            if (headerBytes != Frame.BYTES) throw Frame.broken("a header of " + headerBytes + " bytes");
            ByteBuffer header = UcxUtils.getByteBufferView(headerAddress, headerBytes);
            link = Optional.ofNullable(links.get(header.getLong(0))).filter(known -> !known.closed);
            if (link.isEmpty()) {
                unconnected.over(header.getLong(0));
                return UcsConstants.STATUS.UCS_OK;
            }
            link.get().heard = true;
            heard = true;
            return frame(link.get(), Frame.read(header, 0, settings().maxMessageBytes()), data);
        } catch (Throwable e) {
            Optional<UcxLink> from = link;
            insideUcx(() -> from.ifPresentOrElse(known -> failed(known, String.valueOf(e.getMessage())),
                    () -> log().once("broken", "a message over UCX was dropped: " + e.getMessage())));
            return UcsConstants.STATUS.UCS_OK;
        }
    }

    private void failed(UcxLink link, String because) {
        arrived.add(new Arrival(link, Optional.empty(), Optional.empty(), because));
    }

    /** Nothing may be thrown through UCX's C code: it is thrown behind it. */
    private void insideUcx(Runnable work) {
        try {
            work.run();
        } catch (Throwable thrown) {
            fault = Optional.of(thrown);
        }
    }

    private BufferPool.Use use(Frame frame) {
        if (frame.kind() != Frame.Kind.REQUEST) return BufferPool.Use.ARRIVING_ANSWER;
        return frame.length() > settings().windowBytes() ? BufferPool.Use.LONG_REQUEST : BufferPool.Use.REQUEST;
    }

    /** Where there is no memory: whether a message is passed over, or waits for some. */
    private boolean isPassedOver(Frame frame) {
        return use(frame) == BufferPool.Use.LONG_REQUEST || pool().lacks();
    }

    private int frame(UcxLink link, Frame frame, UcpAmData data) throws WireException {
        if (frame.length() != data.getLength()) throw Frame.broken("a frame whose length is not its payload's");
        if (link.connection.isPresent()) link.connection.get().admit(frame);
        if (frame.length() == 0) {
            arrived.add(new Arrival(link, Optional.of(frame), Optional.empty(), ""));
            return UcsConstants.STATUS.UCS_OK;
        }
        Optional<Buffer> memory = pool().take(frame.length(), use(frame));
        if (memory.isEmpty() && isPassedOver(frame)) {
            arrived.add(new Arrival(link, Optional.of(frame), Optional.empty(), ""));
            return UcsConstants.STATUS.UCS_OK;
        }
        if (memory.isEmpty()) {
            waitingForMemory.add(new Waiting(link, frame, data));
            return UcsConstants.STATUS.UCS_INPROGRESS;
        }
        fill(link, frame, data, memory.get());
        return UcsConstants.STATUS.UCS_OK;
    }

    private void fill(UcxLink link, Frame frame, UcpAmData data, Buffer memory) {
        if (data.isDataValid()) {
            memory.data().put(UcxUtils.getByteBufferView(data.getDataAddress(), data.getLength()));
            arrived.add(new Arrival(link, Optional.of(frame), Optional.of(memory), ""));
            return;
        }
        Transfer transfer = new Transfer(link, Optional.of(frame), memory);
        try {
            worker.recvAmDataNonBlocking(data.getDataHandle(), memory.address() + Frame.BYTES, frame.length(), transfer,
                    UcsConstants.MEMORY_TYPE.UCS_MEMORY_TYPE_HOST);
        } catch (UcxException e) {
            transfer.failed(e.getMessage());
        }
    }

    /** Memory may have been given back. */
    private int feed() {
        int done = 0;
        for (Iterator<Waiting> waiting = waitingForMemory.iterator(); waiting.hasNext();) {
            Waiting next = waiting.next();
            boolean gone = next.link.closed;
            Optional<Buffer> memory = gone ? Optional.empty() : pool().take(next.frame.length(), use(next.frame));
            if (!gone && memory.isEmpty() && !isPassedOver(next.frame)) continue; // a shorter one may fit
            waiting.remove();
            done++;
            memory.ifPresent(buffer -> fill(next.link, next.frame, next.data, buffer));
            if (memory.isEmpty() && !gone)
                arrived.add(new Arrival(next.link, Optional.of(next.frame), Optional.empty(), ""));
            if (memory.isEmpty() || next.data.isDataValid()) worker.amDataRelease(next.data.getDataHandle());
        }
        return done;
    }

    // --- this thread: what goes ---

    private void control(UcxLink link, Frame.Kind kind) {
        Optional<Buffer> memory = pool().take(0, BufferPool.Use.CONTROL);
        if (memory.isEmpty()) return;
        Frame.write(memory.get().whole(), link.peerToken, 0, 0, kind, 0, 0);
        link.send(memory.get(), List.of());
    }

    /** A send or a rendezvous under way. It ends once, whichever way UCX says so. */
    private final class Transfer extends UcxCallback {
        private final UcxLink link;
        private final Optional<Frame> frame;
        private final Buffer memory;
        private boolean over;

        /** @param frame of what comes; absent for what goes */
        Transfer(UcxLink link, Optional<Frame> frame, Buffer memory) {
            this.link = link;
            this.frame = frame;
            this.memory = memory;
            link.transfers++;
            inFlight++;
        }

        private boolean end() {
            if (over) return false;
            over = true;
            link.transfers--;
            inFlight--;
            return true;
        }

        @Override
        public void onSuccess(UcpRequest request) {
            insideUcx(this::succeeded);
        }

        @Override
        public void onError(int status, String text) {
            insideUcx(() -> failed(text));
        }

        private void succeeded() {
            if (!end()) return;
            if (frame.isPresent() && !link.closed) arrived.add(new Arrival(link, frame, Optional.of(memory), ""));
            else memory.close();
            link.connection.ifPresent(Connection::moved);
        }

        void failed(String text) {
            if (!end()) return;
            memory.close();
            if (!link.closed) UcxAgent.this.failed(link, text);
        }
    }

    /**
     * Endpoints that were given up before anything came from their peer, perhaps before RDMA had connected them. Where
     * UCX keeps its assertions, as Debian's 1.13 does, closing one ends the process ({@code ucp_request_send_state_ff}),
     * and so does closing its worker. They are closed once they are connected.
     */
    private static final class Unconnected {
        private final Map<Long, UcpEndpoint> endpoints = new HashMap<>();
        private final List<UcpEndpoint> over = new ArrayList<>();

        void keep(long token, UcpEndpoint endpoint) {
            endpoints.put(token, endpoint);
        }

        boolean any() {
            return !endpoints.isEmpty();
        }

        /** Something has come from its peer; called inside UCX, where nothing can be closed. */
        void over(long token) {
            UcpEndpoint endpoint = endpoints.remove(token);
            if (endpoint != null) over.add(endpoint);
        }

        List<UcpEndpoint> overs() {
            List<UcpEndpoint> now = List.copyOf(over);
            over.clear();
            return now;
        }
    }

    /** An endpoint and what belongs to it. */
    private final class UcxLink implements Link {
        private final long token;
        private final long peerToken;
        private final Runnable ended;
        private Optional<Connection> connection = Optional.empty();
        private UcpEndpoint endpoint;
        private int transfers;
        private boolean heard;
        private boolean closed;

        UcxLink(long token, long peerToken, Runnable ended) {
            this.token = token;
            this.peerToken = peerToken;
            this.ended = ended;
        }

        @Override
        public void send(Buffer frame, List<FilePart> none) {
            if (closed) {
                frame.close();
                return;
            }
            Transfer transfer = new Transfer(this, Optional.empty(), frame);
            try {
                endpoint.sendAmNonBlocking(AM_ID, frame.address(), Frame.BYTES, frame.address() + Frame.BYTES, frame.size(), 0,
                        transfer, UcsConstants.MEMORY_TYPE.UCS_MEMORY_TYPE_HOST);
            } catch (UcxException e) {
                transfer.failed(e.getMessage());
            }
        }

        @Override
        public boolean unsent() {
            return transfers > 0;
        }

        /** A message that is on its way counts as {@link #unsent} until UCX has it. */
        @Override
        public boolean awaitsRest() {
            return false;
        }

        @Override
        public void close() {
            if (closed) return;
            closed = true;
            links.remove(token);
            if (heard || !rdma) closing.add(endpoint.closeNonBlockingForce());
            else unconnected.keep(token, endpoint);
            suspect();
            ended.run();
        }
    }
}
