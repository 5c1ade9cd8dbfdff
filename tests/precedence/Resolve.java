import java.util.HashMap;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.deploy.SparkSubmitArguments;
import scala.collection.mutable.ArrayBuffer;
import scala.jdk.javaapi.CollectionConverters;

/** Says what Spark itself makes of command lines and environments: a list in, a list out, as JSON. */
public class Resolve {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] none) throws Exception {
        ArrayNode answers = JSON.createArrayNode();
        for (JsonNode one : JSON.readTree(System.in)) answers.add(resolve(one));
        System.out.println("ANSWER " + answers);
    }

    private static ObjectNode resolve(JsonNode one) {
        ArrayBuffer<String> words = new ArrayBuffer<>();
        one.get("words").forEach(word -> words.addOne(word.asText()));
        Map<String, String> variables = new HashMap<>();
        one.get("environment").properties().forEach(e -> variables.put(e.getKey(), e.getValue().asText()));
        SparkSubmitArguments got = new SparkSubmitArguments(
            words.toSeq(), scala.collection.immutable.Map.from(CollectionConverters.asScala(variables)));
        ObjectNode answer = JSON.createObjectNode();
        answer.put("master", got.maybeMaster().isEmpty() ? null : got.maybeMaster().get());
        answer.put("remote", got.maybeRemote().isEmpty() ? null : got.maybeRemote().get());
        answer.put("deployMode", got.deployMode());
        ObjectNode conf = answer.putObject("conf");
        CollectionConverters.asJava(got.sparkProperties()).forEach(conf::put);
        put(conf, "spark.executor.memory", got.executorMemory());
        put(conf, "spark.executor.cores", got.executorCores());
        put(conf, "spark.executor.instances", got.numExecutors());
        put(conf, "spark.cores.max", got.totalExecutorCores());
        put(conf, "spark.driver.memory", got.driverMemory());
        put(conf, "spark.driver.cores", got.driverCores());
        return answer;
    }

    private static void put(ObjectNode conf, String key, String value) {
        if (value != null) conf.put(key, value);
    }
}
