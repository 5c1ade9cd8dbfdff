package io.hearth.transport;

import java.util.function.Consumer;

/** Runs an agent until it is told to stop. */
final class AgentThread implements Runnable {
    private final Agent agent;
    private final IdleStrategy idling;
    private final Consumer<String> say;
    private final Thread thread;
    private volatile boolean stopped;

    /** @param name begins with {@code hearth-wire-}: so communication threads are recognised (affinity) */
    AgentThread(String name, Agent agent, IdleStrategy idling, Consumer<String> say) {
        this.agent = agent;
        this.idling = idling;
        this.say = say;
        this.thread = new Thread(this, name);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    @Override
    public void run() {
        try {
            long idleRounds = 0;
            while (!stopped) {
                if (agent.doWork() > 0) idleRounds = 0;
                else idling.idle(agent, idleRounds++);
            }
        } catch (RuntimeException | Error fault) {
            say.accept(thread.getName() + " ends, and its connections with it: " + fault);
            throw fault;
        } finally {
            agent.shutDown();
        }
    }

    boolean isCurrent() {
        return Thread.currentThread() == thread;
    }

    /** Ends the thread after its round, and waits for that unless it is the caller. */
    void stop() {
        stopped = true;
        agent.wake();
        boolean interrupted = false;
        while (!isCurrent() && thread.isAlive()) {
            try {
                thread.join(10);
                agent.wake();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) Thread.currentThread().interrupt();
    }
}
