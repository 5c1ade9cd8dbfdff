import subprocess,time
def collect(job, evidence):
    base='-cp "$SPARK_HOME/jars/*" org.apache.spark.deploy.SparkSubmit --version'
    for o in ["-XX:TieredStopAtLevel=1","-Xint","-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=5 -XX:+UseSerialGC","-XX:TieredStopAtLevel=1 -XX:-BytecodeVerificationRemote -XX:+UseSerialGC", "-Xint -XX:-BytecodeVerificationRemote -XX:+UseSerialGC -XX:-StackTraceInThrowable", "-XX:TieredStopAtLevel=1"]:
        t=time.time()
        p=subprocess.run(["bash","-c",f"time java {o} {base}"],capture_output=True,text=True)
        print("java",o, p.returncode, round(time.time()-t,2), p.stderr[-50:].replace("\n"," "), flush=True)
