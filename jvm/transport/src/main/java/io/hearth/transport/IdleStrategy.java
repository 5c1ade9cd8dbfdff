package io.hearth.transport;

/** What a carrier's thread does after a round without work. */
public interface IdleStrategy {

    /** @param idleRounds rounds without work before this one */
    void idle(CarrierAgent agent, long idleRounds);
}
