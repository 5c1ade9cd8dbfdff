import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.ResourceRequirements;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaimTemplate;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.FileInputStream;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.nodemanager.Context;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.Container;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.ResourceMappings;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.linux.resources.numa.NumaResourceAllocator;
import org.apache.hadoop.yarn.server.nodemanager.recovery.NMNullStateStoreService;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.k8s.KubernetesExecutorConf;
import org.apache.spark.deploy.k8s.KubernetesUtils;
import org.apache.spark.deploy.k8s.SparkPod;
import org.apache.spark.deploy.k8s.features.BasicExecutorFeatureStep;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.resource.ResourceProfile;

/**
 * Has Spark, its Kubernetes client and YARN's allocator of NUMA nodes read the files of a folder, and prints a line for
 * each thing that they say: `pod`, `numa`, or `refused`.
 */
public class Accepted {
    public static void main(String[] arguments) throws Exception {
        for (String name : new String[] {"internal.config.package$", "deploy.k8s.Config$", "internal.config.UI$"}) {
            Class.forName("org.apache.spark." + name);
        }
        for (String folder : arguments) {
            Path files = Path.of(folder);
            SparkConf conf = settings(files.resolve("spark-defaults.conf"));
            if (Files.exists(files.resolve("executor.yaml"))) {
                kubernetes(files, conf);
            } else {
                yarn(files, conf);
            }
        }
    }

    static SparkConf settings(Path file) throws Exception {
        Properties read = new Properties();
        try (var stream = new FileInputStream(file.toFile())) {
            read.load(stream);
        }
        SparkConf conf = new SparkConf(false);
        for (String key : new TreeSet<>(read.stringPropertyNames())) {
            conf.set(key, read.getProperty(key));
            ConfigEntry<?> entry = ConfigEntry.findEntry(key);
            if (entry == null) {
                System.out.println("refused: Spark has no " + key);
            } else {
                conf.get(entry); // throws where its value is none
            }
        }
        return conf;
    }

    static void kubernetes(Path files, SparkConf conf) throws Exception {
        conf.set("spark.kubernetes.container.image", "none");
        try (KubernetesClient client = new KubernetesClientBuilder().build()) {
            String template = files.resolve("executor.yaml").toString();
            SparkPod loaded = KubernetesUtils.loadPodFromTemplate(client, template, scala.Option.empty(), conf);
            unknown(loaded.pod(), "pod");
            unknown(loaded.container(), "container");
            Object profiles = Class.forName(ResourceProfile.class.getName() + "$").getField("MODULE$").get(null);
            profiles.getClass().getMethod("reInitDefaultProfile", SparkConf.class).invoke(profiles, conf);
            var profile = (ResourceProfile) profiles.getClass()
                .getMethod("getOrCreateDefaultProfile", SparkConf.class).invoke(profiles, conf);
            Pod driver = new PodBuilder().withNewMetadata().withName("d").withUid("1").endMetadata()
                .withNewSpec().endSpec().build();
            var executor = new KubernetesExecutorConf(conf, "app", "1", scala.Option.apply(driver), 0);
            var step = new BasicExecutorFeatureStep(executor, new SecurityManager(conf, scala.Option.empty(), null), profile);
            ResourceRequirements own = loaded.container().getResources();
            ResourceRequirements spark = step.configurePod(loaded).container().getResources();
            System.out.println("pod: " + spark.getRequests() + " = " + spark.getLimits());
            System.out.println("template: " + own.getRequests() + " = " + own.getLimits());
            try (var claim = new FileInputStream(files.resolve("claim.yaml").toFile())) {
                unknown(client.getKubernetesSerialization().unmarshal(claim, ResourceClaimTemplate.class), "claim");
            }
        }
    }

    /** Tells of fields that the Kubernetes API does not have. */
    static void unknown(Object model, String path) throws Exception {
        if (model instanceof Collection<?> many) {
            for (Object each : many) unknown(each, path);
        }
        if (model == null || !model.getClass().getName().startsWith("io.fabric8.kubernetes.api.model")) return;
        for (Method method : model.getClass().getMethods()) {
            if (!method.getName().startsWith("get") || method.getParameterCount() > 0) continue;
            Object value = method.invoke(model);
            boolean further = method.getName().equals("getAdditionalProperties");
            if (further && !((Map<?, ?>) value).isEmpty() && !model.getClass().getSimpleName().equals("Quantity")) {
                System.out.println("refused: " + path + " has no " + ((Map<?, ?>) value).keySet());
            }
            unknown(value, path + "." + method.getName().substring(3));
        }
    }

    static void yarn(Path files, SparkConf conf) throws Exception {
        Configuration site = new Configuration(false);
        site.addResource(new FileInputStream(files.resolve("yarn-site.xml").toFile()));
        var store = new NMNullStateStoreService();
        var allocator = new NumaResourceAllocator(proxy(Context.class, Map.of("getNMStateStore", store)));
        allocator.init(site);
        int overhead = (int) conf.getSizeAsMb("spark.executor.memoryOverhead");
        int heap = (int) (conf.getSizeAsMb("spark.executor.memory") + conf.getSizeAsMb("spark.memory.offHeap.size", "0"));
        int room = site.getInt("yarn.nodemanager.resource.memory-mb", 0);
        int many = conf.getInt("spark.executor.instances", 0);
        int cores = conf.getInt("spark.executor.cores", 0);
        allocate(allocator, 0, room - many * (heap + overhead), 1);
        for (int each = 1; each <= many; each++) {
            allocate(allocator, each, heap + overhead, cores);
        }
    }

    static void allocate(NumaResourceAllocator allocator, int number, int memory, int cores) throws Exception {
        var attempt = ApplicationAttemptId.newInstance(ApplicationId.newInstance(1, 1), 1);
        var container = proxy(Container.class, Map.of(
            "getContainerId", ContainerId.newContainerId(attempt, number),
            "getResourceMappings", new ResourceMappings(),
            "getResource", Resource.newInstance(memory, cores)));
        var found = allocator.allocateNumaNodes(container);
        System.out.println("numa: " + (found == null ? "none" : found.getMemNodes() + " " + found.getCpuNodes()));
    }

    static <T> T proxy(Class<T> kind, Map<String, Object> answers) {
        return kind.cast(Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind}, (self, method, given) ->
            method.getName().equals("hashCode") ? Integer.valueOf(1) : answers.get(method.getName())));
    }
}
