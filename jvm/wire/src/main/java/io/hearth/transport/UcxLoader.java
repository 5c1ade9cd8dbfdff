package io.hearth.transport;

import java.io.IOException;
import java.util.Optional;
import java.util.function.LongSupplier;

/** UCX where it can be had; else the reason why not. */
final class UcxLoader {
    /** Of the agent and its pool. */
    record Parts(Optional<EndpointAgent> agent, BufferPool pool, String why) { }

    /** Why there is no UCX. */
    static final class Missing extends Exception {
        private static final long serialVersionUID = 1;

        Missing(String message) {
            super(message);
        }
    }

    private UcxLoader() { }

    static Parts open(WireSettings settings, LongSupplier clockNs, OnceLog log) throws WireException {
        try {
            if (settings.transports() == WireSettings.Transports.TCP) throw new Missing("TCP was asked for");
            return Inside.open(settings, clockNs, log);
        } catch (Missing missing) {
            return without(settings, log, missing.getMessage());
        } catch (NoClassDefFoundError missing) {
            return without(settings, log, "jucx is not on the class path (org.openucx:jucx): " + missing.getMessage());
        } catch (LinkageError missing) {
            return without(settings, log, "libucx cannot be loaded (Debian: apt-get install libucx0): " + missing.getMessage());
        }
    }

    private static BufferPool pool(WireSettings settings, BufferPool.Registrar registrar, OnceLog log) {
        return new BufferPool(settings.memoryBytes(), registrar, line -> log.once("memory", line));
    }

    private static Parts without(WireSettings settings, OnceLog log, String why) throws WireException {
        if (settings.transports() == WireSettings.Transports.UCX)
            throw new WireException(WireException.Kind.REFUSED, "UCX was requested but is unavailable: " + why);
        return new Parts(Optional.empty(), pool(settings, BufferPool.Registrar.NONE, log), why);
    }

    /** Loaded only where jucx is asked for. */
    private static final class Inside {
        static Parts open(WireSettings settings, LongSupplier clockNs, OnceLog log) throws Missing {
            org.openucx.jucx.ucp.UcpContext context = Ucx.open();
            try {
                BufferPool pool = pool(settings, Ucx.registrar(context), log);
                try {
                    UcxAgent agent = new UcxAgent(settings, pool, clockNs, context, UcxReach.here(), log);
                    return new Parts(Optional.of(agent), pool, "");
                } catch (IOException | RuntimeException | Error e) {
                    pool.close();
                    throw e;
                }
            } catch (IOException | org.openucx.jucx.UcxException e) {
                context.close();
                throw new Missing("UCX cannot make a worker here: " + e.getMessage());
            }
        }
    }
}
