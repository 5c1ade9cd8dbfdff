package io.hearth.transport;

import java.nio.ByteBuffer;
import org.openucx.jucx.UcxUtils;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpEndpoint;
import org.openucx.jucx.ucp.UcpEndpointParams;
import org.openucx.jucx.ucp.UcpWorker;
import org.openucx.jucx.ucp.UcpWorkerParams;
import org.openucx.jucx.ucs.UcsConstants;

/**
 * Sends a worker messages from its own process, by the shared memory through which all peers send to it.
 *
 * <p>A peer that is killed between taking a slot of a worker's queue and filling it blocks that queue for ever: the
 * worker reads its slots in order, and no transport of UCX gives one up. One message that does not arrive shows it.
 */
final class UcxFifoProbe implements AutoCloseable {
    private static final int AM_ID = 8;
    private static final int HEADER_BYTES = 8;

    private final UcpWorker from;
    private final UcpEndpoint toWatched;
    private final ByteBuffer header = ByteBuffer.allocateDirect(HEADER_BYTES);
    private long sent;
    private long arrived;

    UcxFifoProbe(UcpContext context, UcpWorker watched) {
        watched.setAmRecvHandler(AM_ID, (address, size, data, reply) -> {
            arrived++;
            return UcsConstants.STATUS.UCS_OK;
        });
        from = context.newWorker(new UcpWorkerParams());
        try {
            // With this mode an endpoint can be closed that has something it cannot send.
            toWatched = from.newEndpoint(
                    new UcpEndpointParams().setUcpAddress(watched.getAddress()).setPeerErrorHandlingMode());
        } catch (RuntimeException | Error e) {
            from.close();
            throw e;
        }
    }

    /** On the watched worker's thread, as all else. */
    void send() {
        toWatched.sendAmNonBlocking(AM_ID, UcxUtils.getAddress(header), HEADER_BYTES, UcxUtils.getAddress(header), 0, 0,
                null, UcsConstants.MEMORY_TYPE.UCS_MEMORY_TYPE_HOST);
        sent++;
    }

    /** Whether all that was sent has come. */
    boolean arrived() throws Exception {
        from.progress();
        return arrived == sent;
    }

    /** Before the watched worker is closed. */
    @Override
    public void close() {
        toWatched.closeNonBlockingForce();
        from.close();
    }
}
