package io.hearth.transport;

/** Answers requests. */
public interface Service {
    Service NONE = request -> request.fail("this side answers no requests");

    /**
     * Called on the agent's thread: it must be short, or hand the request to another thread. What it throws
     * is the request's failure.
     */
    void onRequest(Request request);
}
