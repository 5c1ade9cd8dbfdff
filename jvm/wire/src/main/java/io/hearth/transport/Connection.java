package io.hearth.transport;

import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A connection whose two sides have proved who they are. Either side may ask and answer.
 *
 * <p>Each side sends at most a window of requests, and a window of responses, that the other has not done
 * with: so memory is bounded, and answers never wait behind requests. A message longer than the window
 * is sent when nothing else is under way. Each request gets exactly one answer, also where it was cancelled:
 * so an id is free again when its answer is there, however often the numbers wrap around.
 *
 * <p>Public methods may be called by any thread. All else runs on the agent's thread.
 */
public final class Connection implements AutoCloseable {
    private static final int MIN_COST = 256;

    /** Of answers, those that wait for room among them, that one connection may have in memory. */
    private static final long WINDOWS = 4;

    /** Near the end of the numbers: so that they wrap around in every program, not once in a month. */
    private static final int FIRST_ID = Integer.MAX_VALUE - 50;

    final ConnectionParameters parameters;
    private final Agent agent;
    private final Service service;
    private final AtomicInteger calls = new AtomicInteger();
    private final CompletableFuture<WireException> end = new CompletableFuture<>();
    private final BufferPool.Share answersShare;

    private final Map<Integer, Reply> waitingForAnswer = new HashMap<>();
    private final Map<Integer, Request> unanswered = new HashMap<>();
    private final Deque<Reply> requests = new ArrayDeque<>();
    private final Deque<Answer> answers = new ArrayDeque<>();
    private Link link;
    private int nextId = FIRST_ID;
    private int requestCredit;
    private int responseCredit;
    private int requestsHeld;
    private int responsesHeld;
    private int requestsOwed;
    private int responsesOwed;
    private long movedNs;
    private long cameNs;
    private boolean active;

    private record Answer(int id, Buffer frame, List<FilePart> files, Frame.Kind kind) {
        int payload() {
            return frame.size() + files.stream().mapToInt(FilePart::bytes).sum();
        }

        void close() {
            frame.close();
            files.forEach(FilePart::close);
        }
    }

    /**
     * What both sides know of the connection.
     *
     * @param token this side's name for it, which comes with each frame; {@code peerToken} is the other's
     * @param window what the peer takes; {@code maxMessageBytes} is its longest message
     * @param transport {@code ucx} or {@code tcp}
     * @param why the reason where it is not the first choice; may be empty
     */
    record ConnectionParameters(SocketAddress peer, long token, long peerToken, int window, int maxMessageBytes,
            String transport, String why) { }

    Connection(ConnectionParameters parameters, Agent agent, Service service) {
        this.parameters = parameters;
        this.agent = agent;
        this.service = service;
        this.requestCredit = parameters.window();
        this.responseCredit = parameters.window();
        this.movedNs = agent.nowNs();
        this.cameNs = movedNs;
        WireSettings settings = agent.settings();
        this.answersShare = new BufferPool.Share(Math.max(WINDOWS * settings.windowBytes(), settings.memoryBytes() / 8));
    }

    // --- for any thread ---

    public SocketAddress peer() {
        return parameters.peer();
    }

    /** {@code ucx} or {@code tcp}. */
    public String transport() {
        return parameters.transport();
    }

    /** Why it is not the first choice; empty where it is. */
    public String why() {
        return parameters.why();
    }

    /** Whether an answer may have parts of files. */
    public boolean sendsFiles() {
        return "tcp".equals(parameters.transport());
    }

    /** The longest message that the other side takes, in bytes. */
    public int maxMessageBytes() {
        return parameters.maxMessageBytes();
    }

    /** Completes when the connection has ended, with the reason. */
    public CompletableFuture<WireException> end() {
        return end.copy();
    }

    /** @throws WireException (BUSY) where the memory for messages is used up */
    public Buffer buffer(int bytes) throws WireException {
        check(bytes);
        return orBusy(memory(bytes, BufferPool.Use.REQUEST), bytes);
    }

    Buffer answerBuffer(int bytes) throws WireException {
        check(bytes);
        return orBusy(agent.pool().take(bytes, BufferPool.Use.ANSWER, answersShare), bytes);
    }

    private void check(int bytes) throws WireException {
        if (bytes < 0 || bytes > parameters.maxMessageBytes())
            throw new WireException(WireException.Kind.REFUSED, "a message of " + bytes + " bytes: the limit is "
                    + parameters.maxMessageBytes() + ", send it in parts or raise maxMessageBytes on both sides");
    }

    private Buffer orBusy(Optional<Buffer> memory, int bytes) throws WireException {
        return memory.orElseThrow(() -> new WireException(WireException.Kind.BUSY, noMemory(bytes)));
    }

    private String noMemory(int bytes) {
        return "no memory for a message of " + bytes + " bytes: " + agent.pool().usedBytes() + " bytes are used, the"
                + " limit is " + agent.pool().limitBytes() + "; try again later or raise memoryBytes";
    }

    /** A reason, cut where it is too long; absent where no memory is left. */
    Optional<Buffer> text(String because) {
        byte[] bytes = because.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, Frame.MAX_TEXT_BYTES);
        Optional<Buffer> buffer = memory(length, BufferPool.Use.CONTROL);
        buffer.ifPresent(into -> into.data().put(bytes, 0, length));
        return buffer;
    }

    /**
     * @param request of {@link #buffer}; it is handed over, also where this throws
     * @throws WireException BUSY where too many requests wait, LOST where the connection has ended
     */
    public Reply request(Buffer request, long timeoutNs) throws WireException {
        if (end.isDone()) {
            request.close();
            throw end.join();
        }
        Reply reply = new Reply(this, request, agent.nowNs() + timeoutNs);
        if (calls.incrementAndGet() > agent.settings().limits().callLimit())
            throw tooMany(request, "callLimit", agent.settings().limits().callLimit());
        Runnable work = () -> {
            guarded(() -> submit(reply));
            if (ended() && !reply.isDone()) reply.completeExceptionally(end.join());
        };
        if (agent.isCurrent()) work.run();
        else if (!agent.offer(work)) throw tooMany(request, "queueLimit", agent.settings().limits().queueLimit());
        return reply;
    }

    private WireException tooMany(Buffer request, String limit, int value) {
        calls.decrementAndGet();
        request.close();
        return new WireException(WireException.Kind.BUSY,
                "too many requests wait (" + limit + " is " + value + "): try again when some are answered");
    }

    /** Ends the connection; requests without an answer fail. */
    @Override
    public void close() {
        run(() -> lost("it was closed on this side"));
    }

    Optional<Buffer> memory(int bytes, BufferPool.Use use) {
        return agent.pool().take(bytes, use);
    }

    void cancelled(Reply reply) {
        run(() -> abandon(reply));
    }

    /** The application is done with a response of that size. */
    void consumed(int size) {
        run(() -> {
            responsesHeld -= cost(size);
            responsesOwed += cost(size);
            payCredit();
        });
    }

    void answered(Request request, Optional<Buffer> response, List<FilePart> files, Frame.Kind kind) {
        run(() -> answer(request, response, files, kind));
    }

    private void run(Runnable work) {
        agent.run(() -> guarded(work));
    }

    /** Whatever goes wrong on the agent's thread ends this connection, and nothing else: each request gets its end. */
    private void guarded(Runnable work) {
        try {
            work.run();
        } catch (Throwable fault) {
            lost("an internal error: " + fault);
        }
    }

    // --- on the agent's thread ---

    void open(Link way) {
        link = way;
        pump();
    }

    long token() {
        return parameters.token();
    }

    /** Something on the agent's thread with the way to the peer. */
    void withLink(Consumer<Link> work) {
        run(() -> work.accept(link));
    }

    boolean ended() {
        return end.isDone();
    }

    private void submit(Reply reply) {
        if (ended()) {
            reply.request.close();
            done(reply, end.join());
        } else {
            requests.add(reply);
            pump();
            noteActivity();
        }
    }

    private void pump() {
        if (link == null || ended()) return;
        while (!answers.isEmpty() && cost(answers.peek().payload()) <= responseCredit) {
            Answer answer = answers.poll();
            responseCredit -= cost(answer.payload());
            begin(answer.frame, answer.id, answer.payload(), answer.kind);
            link.send(answer.frame, answer.files);
        }
        while (!requests.isEmpty()) {
            Reply reply = requests.peek();
            int cost = cost(reply.request.size());
            if (reply.state == Reply.State.WAITING && cost > requestCredit) break;
            requests.poll();
            if (reply.state != Reply.State.WAITING) continue;
            requestCredit -= cost;
            reply.id = freeId();
            reply.state = Reply.State.SENT;
            waitingForAnswer.put(reply.id, reply);
            send(reply.id, reply.request, Frame.Kind.REQUEST);
        }
    }

    private int freeId() {
        while (waitingForAnswer.containsKey(nextId)) nextId++;
        return nextId++;
    }

    private void send(int id, Buffer frame, Frame.Kind kind) {
        begin(frame, id, frame.size(), kind);
        link.send(frame, List.of());
    }

    private void begin(Buffer frame, int id, int payload, Frame.Kind kind) {
        Frame.write(frame.whole(), parameters.peerToken(), id, payload, kind, requestsOwed, responsesOwed);
        requestsOwed = 0;
        responsesOwed = 0;
    }

    /** CANCEL, CREDIT: where there is no memory for them, the next look tries again or the peer does without. */
    private boolean sendControl(int id, Frame.Kind kind) {
        if (link == null || ended()) return false;
        Optional<Buffer> frame = memory(0, BufferPool.Use.CONTROL);
        frame.ifPresent(to -> send(id, to, kind));
        return frame.isPresent();
    }

    /** Credit goes with any frame; by itself when a quarter of the window is owed, and at each look. */
    private void payCredit() {
        int quarter = agent.settings().windowBytes() / 4;
        if (requestsOwed >= quarter || responsesOwed >= quarter) sendControl(0, Frame.Kind.CREDIT);
        noteActivity();
    }

    private int cost(int payload) {
        return Math.min(parameters.window(), Math.max(MIN_COST, payload + Frame.BYTES));
    }

    private int costHere(int payload) {
        return Math.min(agent.settings().windowBytes(), Math.max(MIN_COST, payload + Frame.BYTES));
    }

    /**
     * Before there is memory for a message.
     *
     * @throws WireException where the peer had no right to send it
     */
    void admit(Frame frame) throws WireException {
        int window = agent.settings().windowBytes();
        int cost = costHere(frame.length());
        switch (frame.kind()) {
            case REQUEST -> {
                if (requestsHeld > 0 && requestsHeld + cost > window) throw Frame.broken("more requests than its window allows");
            }
            case RESPONSE, FAILURE, BUSY -> {
                if (!waitingForAnswer.containsKey(frame.id())) throw Frame.broken("an answer to an unknown request, " + frame.id());
                if (responsesHeld > 0 && responsesHeld + cost > window) throw Frame.broken("more answers than its window allows");
            }
            default -> { }
        }
    }

    /** A part of a message has come. */
    void came() {
        cameNs = agent.nowNs();
    }

    /** There was no memory for a message, whose bytes were passed over: whoever asked tries again later, or elsewhere. */
    void passedOver(Frame frame) {
        guarded(() -> {
            if (ended()) return;
            try {
                movedNs = agent.nowNs();
                credit(frame);
            } catch (WireException broken) {
                lost(broken.getMessage());
                return;
            }
            if (frame.kind() == Frame.Kind.REQUEST) refuse(frame);
            else giveUp(frame);
            pump();
            payCredit();
        });
    }

    private void refuse(Frame request) {
        requestsOwed += costHere(request.length());
        Optional<Buffer> reason = text("the other side has " + noMemory(request.length()));
        if (reason.isPresent()) answers.add(new Answer(request.id(), reason.get(), List.of(), Frame.Kind.BUSY));
        else lost("no memory was left for an answer (memoryBytes is " + agent.settings().memoryBytes() + ")");
    }

    private void giveUp(Frame answer) {
        Reply reply = waitingForAnswer.remove(answer.id());
        responsesOwed += costHere(answer.length());
        if (reply != null) done(reply, new WireException(WireException.Kind.LOST, "its answer is lost: " + noMemory(answer.length())));
    }

    /** @param payload handed over; absent where the frame has none */
    void received(Frame frame, Optional<Buffer> payload) {
        guarded(() -> receive(frame, payload));
    }

    private void receive(Frame frame, Optional<Buffer> payload) {
        try {
            if (ended()) payload.ifPresent(Buffer::close);
            else take(frame, payload);
        } catch (WireException broken) {
            payload.ifPresent(Buffer::close);
            lost(broken.getMessage());
        }
        noteActivity();
    }

    private void take(Frame frame, Optional<Buffer> payload) throws WireException {
        movedNs = agent.nowNs();
        cameNs = movedNs;
        credit(frame);
        switch (frame.kind()) {
            case REQUEST -> takeRequest(frame, payload);
            case RESPONSE, FAILURE, BUSY -> takeAnswer(frame, payload);
            case CANCEL -> takeCancel(frame.id());
            case CREDIT -> { }
            case PROBE, PROBED -> throw Frame.broken("a frame " + frame.kind() + " late");
        }
        pump();
    }

    private void credit(Frame frame) throws WireException {
        long requestsNow = (long) requestCredit + frame.requestCredit();
        long responsesNow = (long) responseCredit + frame.responseCredit();
        if (requestsNow > parameters.window() || responsesNow > parameters.window())
            throw Frame.broken("more credit than its window allows");
        requestCredit = (int) requestsNow;
        responseCredit = (int) responsesNow;
    }

    private void takeRequest(Frame frame, Optional<Buffer> payload) throws WireException {
        int cost = costHere(frame.length());
        Optional<Buffer> content = payload.or(() -> memory(0, BufferPool.Use.CONTROL));
        boolean fits = requestsHeld == 0 || requestsHeld + cost <= agent.settings().windowBytes();
        if (!fits || content.isEmpty() || unanswered.containsKey(frame.id())) {
            payload.ifPresent(Buffer::close);
            throw Frame.broken(fits ? "two requests with the id " + frame.id() : "more requests than its window allows");
        }
        requestsHeld += cost;
        Request request = new Request(this, frame.id(), content.get());
        unanswered.put(frame.id(), request);
        try {
            service.onRequest(request);
        } catch (Throwable fault) { // also an Error: other requests go on
            request.fail(fault.toString());
        }
    }

    private void answer(Request request, Optional<Buffer> response, List<FilePart> files, Frame.Kind kind) {
        int cost = costHere(request.size());
        requestsHeld -= cost;
        requestsOwed += cost;
        Optional<Answer> answer = response.map(buffer -> new Answer(request.id, buffer, files, kind));
        if (!unanswered.remove(request.id, request)) answer.ifPresent(Answer::close);
        else if (answer.isEmpty())
            lost("no memory was left for an answer (memoryBytes is " + agent.settings().memoryBytes() + ")");
        else answers.add(answer.get());
        pump();
        payCredit();
    }

    private void takeAnswer(Frame frame, Optional<Buffer> payload) throws WireException {
        Reply reply = waitingForAnswer.remove(frame.id());
        Optional<Buffer> content = payload.or(() -> memory(0, BufferPool.Use.CONTROL));
        int cost = costHere(frame.length());
        boolean fits = responsesHeld == 0 || responsesHeld + cost <= agent.settings().windowBytes();
        if (reply == null || !fits || content.isEmpty()) {
            payload.ifPresent(Buffer::close);
            if (reply != null) waitingForAnswer.put(frame.id(), reply);
            throw Frame.broken(fits ? "an answer to an unknown request, " + frame.id() : "more answers than its window allows");
        }
        responsesHeld += cost;
        reply.state = Reply.State.DONE;
        calls.decrementAndGet();
        Message message = new Message(this, content.get());
        if (frame.kind() != Frame.Kind.RESPONSE) {
            String text = StandardCharsets.UTF_8.decode(message.data()).toString();
            message.close();
            boolean busy = frame.kind() == Frame.Kind.BUSY;
            reply.completeExceptionally(new WireException(busy ? WireException.Kind.BUSY : WireException.Kind.FAILED, text));
        } else if (!reply.complete(message)) message.close();
    }

    /** The peer gets its one answer now; the service keeps the request's memory until it answers. */
    private void takeCancel(int id) {
        Request request = unanswered.remove(id);
        if (request == null) return;
        request.cancel();
        Optional<Buffer> empty = memory(0, BufferPool.Use.CONTROL);
        if (empty.isEmpty()) unanswered.put(id, request);
        else answers.add(new Answer(id, empty.get(), List.of(), Frame.Kind.FAILURE));
    }

    private void abandon(Reply reply) {
        if (reply.state == Reply.State.WAITING) {
            reply.state = Reply.State.DONE;
            requests.remove(reply);
            reply.request.close();
            calls.decrementAndGet();
        } else if (reply.state == Reply.State.SENT) {
            reply.state = Reply.State.ABANDONED;
            sendControl(reply.id, Frame.Kind.CANCEL);
        }
        noteActivity();
    }

    private void done(Reply reply, WireException because) {
        reply.state = Reply.State.DONE;
        calls.decrementAndGet();
        reply.completeExceptionally(because);
    }

    /** Deadlines, a peer that takes nothing, credit that is owed. */
    void look(long nowNs) {
        guarded(() -> lookAfter(nowNs));
    }

    private void lookAfter(long nowNs) {
        if (ended()) return;
        List<Reply> late = new ArrayList<>();
        for (Reply reply : requests)
            if (reply.state == Reply.State.WAITING && nowNs - reply.deadlineNs >= 0) late.add(reply);
        for (Reply reply : waitingForAnswer.values())
            if (reply.state == Reply.State.SENT && nowNs - reply.deadlineNs >= 0) late.add(reply);
        for (Reply reply : late) {
            reply.completeExceptionally(new WireException(WireException.Kind.TIMED_OUT,
                    "no answer from " + parameters.peer() + " in time"));
            abandon(reply);
        }
        if (requestsOwed > 0 || responsesOwed > 0) sendControl(0, Frame.Kind.CREDIT);
        stalled(nowNs);
        noteActivity();
    }

    private void stalled(long nowNs) {
        boolean waits = !answers.isEmpty() || link != null && link.unsent();
        boolean owed = waitingForAnswer.values().stream().anyMatch(r -> r.state == Reply.State.ABANDONED);
        long limitNs = agent.settings().limits().stallLimit().toNanos();
        if (!waits && !owed) movedNs = nowNs;
        else if (nowNs - movedNs >= limitNs)
            lost("the peer has read nothing for " + limitNs / 1_000_000 + " ms (stallLimit)");
        if (link == null || !link.awaitsRest()) cameNs = nowNs;
        else if (nowNs - cameNs >= limitNs)
            lost("the rest of a message has not arrived for " + limitNs / 1_000_000 + " ms (stallLimit)");
    }

    /** The transport has moved bytes. */
    void moved() {
        movedNs = agent.nowNs();
    }

    /** Ends the connection; each request fails, each buffer goes back. */
    void lost(String because) {
        WireException reason = new WireException(WireException.Kind.LOST,
                "the connection with " + parameters.peer() + " has ended: " + because);
        if (ended() || !end.complete(reason)) return;
        unanswered.values().forEach(Request::cancel);
        unanswered.clear();
        answers.forEach(Answer::close);
        answers.clear();
        if (link != null) link.close();
        List<Reply> left = new ArrayList<>(waitingForAnswer.values());
        waitingForAnswer.clear();
        for (Reply reply : requests) {
            if (reply.state != Reply.State.WAITING) continue;
            reply.request.close();
            left.add(reply);
        }
        requests.clear();
        for (Reply reply : left) done(reply, reason);
        noteActivity();
        agent.forget(this);
    }

    /** The agent looks often while something has a deadline. */
    private void noteActivity() {
        boolean now = !ended() && (!waitingForAnswer.isEmpty() || !requests.isEmpty() || !answers.isEmpty()
                || requestsOwed > 0 || responsesOwed > 0 || link != null && link.unsent());
        if (now != active) agent.active(now ? 1 : -1);
        active = now;
    }
}
