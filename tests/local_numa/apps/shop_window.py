"""What the driver's UI shows of the executors' logs, and on which ports everything stands."""

import json
import urllib.request

from pyspark.sql import SparkSession

# More steps than any directory is deep: from the root one goes no higher.
ROOT = "../" * 40
TRAVERSALS = (
    (ROOT + "etc", "passwd"),
    ("0", ROOT + "etc/passwd"),
    ("0/../..", "run.json"),
    (ROOT.replace("/", "%2F") + "etc", "passwd"),
)

spark = SparkSession.builder.appName("shop window").getOrCreate()
context = spark.sparkContext
total = context.parallelize(range(8), 8).map(lambda n: n * n).sum()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


listed = json.loads(
    get(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/executors")
)
executors = [e for e in listed if e["id"] != "driver"]
page = executors[0]["executorLogs"]["stderr"].split("?")[0]
print(
    "RESULT",
    json.dumps(
        {
            "sum": total,
            "ui": context.uiWebUrl,
            "driver_port": int(context.getConf().get("spark.driver.port")),
            "block_managers": [e["hostPort"] for e in executors],
            "logs": {
                e["id"]: {name: get(url) for name, url in e["executorLogs"].items()}
                for e in executors
            },
            "refused": [get(f"{page}?executor={e}&name={n}") for e, n in TRAVERSALS],
        }
    ),
)
spark.stop()
