package io.hearth.affinity;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Collections;
import java.util.Enumeration;

/** Loads JNA from a folder inside the agent's jar, whatever JNA the application has. */
final class OwnJna extends ClassLoader {
    private static final String FOLDER = "io/hearth/affinity/jna/";
    private static final String CALLER = "io.hearth.affinity.JnaScheduling";

    private OwnJna() {
        super(OwnJna.class.getClassLoader());
    }

    static Scheduling scheduling() throws ReflectiveOperationException {
        return (Scheduling) new OwnJna().loadClass(CALLER).getDeclaredConstructor().newInstance();
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            boolean own = name.startsWith("com.sun.jna.") || name.equals(CALLER);
            if (!own) return super.loadClass(name, resolve);
            Class<?> loaded = findLoadedClass(name);
            return loaded == null ? findClass(name) : loaded;
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        String file = name.replace('.', '/') + ".class";
        String path = name.equals(CALLER) ? file : FOLDER + file;
        try (InputStream in = getParent().getResourceAsStream(path)) {
            if (in == null) throw new ClassNotFoundException(name);
            byte[] bytes = in.readAllBytes();
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    @Override
    public URL getResource(String name) {
        return name.startsWith("com/sun/jna/") ? getParent().getResource(FOLDER + name) : super.getResource(name);
    }

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
        if (!name.startsWith("com/sun/jna/")) return super.getResources(name);
        return Collections.enumeration(getResource(name) == null ? Collections.emptyList() : Collections.singletonList(getResource(name)));
    }
}
