package org.apache.hadoop.ipc;

import io.hearth.transport.Request;
import io.hearth.transport.WireException;
import java.io.IOException;
import java.lang.reflect.UndeclaredThrowableException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.ipc.ProcessingDetails.Timing;
import org.apache.hadoop.ipc.protobuf.IpcConnectionContextProtos.IpcConnectionContextProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcRequestHeaderProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcResponseHeaderProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcResponseHeaderProto.RpcErrorCodeProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcResponseHeaderProto.RpcStatusProto;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AuthorizationException;
import org.apache.hadoop.thirdparty.protobuf.ByteString;
import org.apache.hadoop.thirdparty.protobuf.Message;
import org.apache.hadoop.util.StringUtils;
import org.apache.hadoop.util.Time;

/** A call that came over the wire: run by a handler of Hadoop's, answered as its own calls are. */
final class WireCall extends Server.Call {
    private static final long MAX_WAIT_MS = 30_000;
    private static final long MAX_PAUSE_MS = 50;

    private final WireServer server;
    private final Request request;
    private final IpcConnectionContextProto context;
    private final ProtobufRpcEngine2.RpcProtobufRequest rpcRequest;
    private UserGroupInformation user;
    private Optional<AuthorizationException> refused = Optional.empty();
    private Response answer = Response.of((Writable) null);

    /** @param error null where there is a value, which may be null too */
    private record Response(RpcStatusProto status, Writable value, Throwable error, RpcErrorCodeProto detail) {
        static Response of(Writable value) {
            return new Response(RpcStatusProto.SUCCESS, value, null, null);
        }

        static Response of(Throwable thrown) {
            Throwable error = thrown instanceof UndeclaredThrowableException ? thrown.getCause() : thrown;
            if (error instanceof RpcServerException of)
                return new Response(of.getRpcStatusProto(), null, error, of.getRpcErrorCodeProto());
            return new Response(RpcStatusProto.ERROR, null, error, RpcErrorCodeProto.ERROR_APPLICATION);
        }
    }

    WireCall(WireServer server, Request request, RpcRequestHeaderProto header, IpcConnectionContextProto context,
            ProtobufRpcEngine2.RpcProtobufRequest rpcRequest) {
        super(header.getCallId(), header.getRetryCount(), RPC.RpcKind.RPC_PROTOCOL_BUFFER,
                header.getClientId().toByteArray(), null, context(header),
                header.hasAuthorizationHeader() ? header.getAuthorizationHeader().toByteArray() : null);
        this.server = server;
        this.request = request;
        this.context = context;
        this.rpcRequest = rpcRequest;
    }

    /** Who says that they call, and by which protocol. */
    IpcConnectionContextProto context() {
        return context;
    }

    io.hearth.transport.Connection connection() {
        return request.connection();
    }

    /** Before it is queued: whoever it names may call. */
    void by(UserGroupInformation authorized) {
        user = authorized;
    }

    /** Before it is queued: it is answered with this. */
    void refused(AuthorizationException why) {
        refused = Optional.of(why);
    }

    private static CallerContext context(RpcRequestHeaderProto header) {
        if (!header.hasCallerContext()) return null;
        return new CallerContext.Builder(header.getCallerContext().getContext())
                .setSignature(header.getCallerContext().getSignature().toByteArray()).build();
    }

    @Override
    boolean isOpen() {
        return !request.cancelled();
    }

    @Override
    public UserGroupInformation getRemoteUser() {
        return user;
    }

    @Override
    public InetAddress getHostInetAddress() {
        return ((InetSocketAddress) request.connection().peer()).getAddress();
    }

    @Override
    public int getRemotePort() {
        return ((InetSocketAddress) request.connection().peer()).getPort();
    }

    @Override
    public String getProtocol() {
        return "rpc";
    }

    @Override
    public Void run() throws IOException {
        if (!isOpen()) {
            Server.LOG.info("{}: skipped {}", Thread.currentThread().getName(), this);
            request.fail("the caller gave up");
            return null;
        }
        long began = Time.monotonicNowNanos();
        setStartHandleTimestampNanos(began);
        if (refused.isPresent())
            answer = new Response(RpcStatusProto.FATAL, null, refused.get(), RpcErrorCodeProto.FATAL_UNAUTHORIZED);
        else call();
        if (isResponseDeferred()) return null;
        ProcessingDetails details = getProcessingDetails();
        long took = Time.monotonicNowNanos() - began;
        details.set(Timing.PROCESSING, took, TimeUnit.NANOSECONDS);
        for (Timing waited : new Timing[] {Timing.LOCKWAIT, Timing.LOCKSHARED, Timing.LOCKEXCLUSIVE})
            took -= details.get(waited, TimeUnit.NANOSECONDS);
        details.set(Timing.LOCKFREE, took, TimeUnit.NANOSECONDS);
        sendResponse();
        details.setReturnStatus(answer.status());
        return null;
    }

    private void call() {
        try {
            answer = Response.of(server.call(rpcKind, context.getProtocol(), rpcRequest, getTimestampNanos()));
        } catch (Throwable e) {
            failed(e);
        }
    }

    private void failed(Throwable error) {
        server.logException(Server.LOG, error, this);
        answer = Response.of(error);
    }

    /** Where it did not get into the call queue. */
    void refuse(IOException tooBusy) {
        respond(Response.of(tooBusy));
    }

    @Override
    void doResponse(Throwable error, RpcStatusProto status) {
        respond(error == null ? answer : new Response(status == null ? RpcStatusProto.FATAL : status, null, error,
                RpcErrorCodeProto.ERROR_RPC_SERVER));
    }

    @Override
    public void setDeferredResponse(Writable value) {
        respond(Response.of(value));
    }

    @Override
    public void setDeferredError(Throwable error) {
        failed(error != null ? error : new IOException("User code indicated an error without an exception"));
        respond(answer);
    }

    private void respond(Response with) {
        long began = Time.monotonicNowNanos();
        try {
            send(with);
        } catch (Throwable e) { // also an Error: the handler goes on, and the caller hears of it
            Server.LOG.warn("Error serializing call response for call {}", this, e);
            try {
                send(new Response(RpcStatusProto.ERROR, null, e, RpcErrorCodeProto.ERROR_SERIALIZING_RESPONSE));
            } catch (Throwable worse) {
                cannotBeSent(worse);
            }
        }
        getProcessingDetails().set(Timing.RESPONSE, Time.monotonicNowNanos() - began, TimeUnit.NANOSECONDS);
    }

    private void send(Response with) throws IOException {
        RpcResponseHeaderProto.Builder header = RpcResponseHeaderProto.newBuilder()
                .setClientId(ByteString.copyFrom(clientId)).setCallId(callId).setRetryCount(retryCount)
                .setStatus(with.status()).setServerIpcVersionNum(RpcConstants.CURRENT_VERSION);
        if (with.error() != null)
            header.setExceptionClassName(with.error().getClass().getName()).setErrorMsg(text(with.error()))
                    .setErrorDetail(with.detail());
        List<Message> messages = new ArrayList<>(List.of(header.build()));
        if (with.value() != null) messages.add(((RpcWritable.ProtobufWrapper) with.value()).getMessage());
        server.rpcMetrics.incrSentBytes(WireBytes.size(messages));
        if (!isSent(messages)) sendLater(messages, Time.monotonicNow() + MAX_WAIT_MS, 1);
    }

    /** @return false where no memory is left now */
    private boolean isSent(List<Message> messages) throws IOException {
        try {
            request.respond(WireBytes.write(messages, request::buffer));
            return true;
        } catch (WireException e) {
            if (e.kind() != WireException.Kind.BUSY) throw e;
            return false;
        }
    }

    /** No handler waits for memory: answers that were given before are on their way. */
    private void sendLater(List<Message> messages, long untilMs, long pauseMs) {
        server.later(() -> {
            try {
                if (request.cancelled()) request.fail("the caller gave up");
                else if (isSent(messages)) return;
                else if (Time.monotonicNow() < untilMs)
                    sendLater(messages, untilMs, Math.min(2 * pauseMs, MAX_PAUSE_MS));
                else request.fail("no memory was left for the answer within " + MAX_WAIT_MS + " ms");
            } catch (Throwable trouble) {
                cannotBeSent(trouble);
            }
        }, pauseMs);
    }

    private void cannotBeSent(Throwable trouble) {
        request.fail("the answer could not be sent: " + trouble.getMessage());
    }

    /** The stack, without the class at its beginning, which has a field of its own. */
    private static String text(Throwable error) {
        String all = StringUtils.stringifyException(error);
        String name = error.getClass().getName() + ": ";
        return all.startsWith(name) ? all.substring(name.length()) : all;
    }
}
