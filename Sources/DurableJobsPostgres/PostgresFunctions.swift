#if DurableJobsPostgres
/// The functions in the database that are a public interface: any client of PostgreSQL calls them.
/// They have the same checks as the methods of `JobQueue`.
enum PostgresFunctions {
    /// Makes the functions, in place of earlier ones. The page `UsingJobs` describes them.
    ///
    /// The arguments are read by their numbers: their names are those of columns.
    static let enqueue = """
        CREATE OR REPLACE FUNCTION durable_job_enqueue(
            queue TEXT, name TEXT, arguments JSONB, version BIGINT DEFAULT 1,
            run_at TIMESTAMPTZ DEFAULT NULL, deadline TIMESTAMPTZ DEFAULT NULL,
            retries BIGINT DEFAULT 0, priority BIGINT DEFAULT 0,
            unique_key TEXT DEFAULT NULL, exclusive_key TEXT DEFAULT NULL
        ) RETURNS BIGINT LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        #variable_conflict use_column
        DECLARE
            of_queue CONSTANT TEXT := $1;
            of_name CONSTANT TEXT := $2;
            of_rank CONSTANT BIGINT := -COALESCE($8, 0);
            text_of_arguments CONSTANT TEXT := $3::TEXT;
            time CONSTANT BIGINT := {now};
            start CONSTANT BIGINT := (EXTRACT(EPOCH FROM $5) * 1000)::BIGINT;
            time_limit CONSTANT BIGINT := (EXTRACT(EPOCH FROM $6) * 1000)::BIGINT;
            \(digest("of_unique", of: 9, prefix: "$2 || ' ' || "))
            \(digest("of_exclusive", of: 10, prefix: ""))
            head BIGINT;
            result BIGINT;
        BEGIN
            IF of_queue IS NULL OR octet_length(of_queue) NOT BETWEEN 1 AND 200
                OR of_name IS NULL OR octet_length(of_name) NOT BETWEEN 1 AND 200 THEN
                RAISE EXCEPTION 'durable_job_enqueue: a queue and a job have names of 1 to 200 bytes'
                    USING ERRCODE = 'invalid_parameter_value';
            ELSIF text_of_arguments IS NULL OR jsonb_typeof($3) <> 'object' THEN
                RAISE EXCEPTION 'durable_job_enqueue: the arguments of job % are no JSON object: '
                    'write one with a member for each property of the job', of_name
                    USING ERRCODE = 'invalid_parameter_value';
            ELSIF octet_length(text_of_arguments) > 1048576 THEN
                RAISE EXCEPTION 'durable_job_enqueue: the arguments of job % take % bytes; at most '
                    '1048576 are stored: store a reference to large data', of_name,
                    octet_length(text_of_arguments) USING ERRCODE = 'invalid_parameter_value';
            ELSIF COALESCE($7, 0) < 0 OR COALESCE($4, 1) < 1 THEN
                RAISE EXCEPTION 'durable_job_enqueue: job % needs 0 or more retries, and a version '
                    'of 1 or more', of_name USING ERRCODE = 'invalid_parameter_value';
            ELSIF of_rank NOT IN (-8, -4, 0, 4, 8) THEN
                RAISE EXCEPTION 'durable_job_enqueue: job % has the priority %: use -8, -4, 0, 4 or '
                    '8', of_name, $8 USING ERRCODE = 'invalid_parameter_value';
            END IF;
            SELECT h.position INTO head FROM durable_job_head h
                WHERE h.queue = of_queue AND h.rank = of_rank;
            -- A job with the same key may end between the insertion and the look.
            LOOP
                INSERT INTO durable_job AS j (queue, name, version, arguments, state, rank,
                    base_rank, position, run_at, deadline, retry_limit, pending, is_wide,
                    unique_key, exclusive_key, enqueued_at)
                VALUES (of_queue, of_name, COALESCE($4, 1), convert_to(text_of_arguments, 'UTF8'),
                    CASE WHEN start > time THEN 1 ELSE 2 END, of_rank, of_rank,
                    COALESCE(head, 0) + 1, start, time_limit, COALESCE($7, 0), 0, 0,
                    of_unique, of_exclusive, time)
                ON CONFLICT (queue, unique_key) WHERE unique_key IS NOT NULL AND state < 10
                DO NOTHING RETURNING j.id INTO result;
                EXIT WHEN result IS NOT NULL;
                SELECT j.id INTO result FROM durable_job j
                    WHERE j.queue = of_queue AND j.unique_key = of_unique AND j.state < 10;
                EXIT WHEN result IS NOT NULL;
            END LOOP;
            PERFORM pg_notify('durable_jobs', of_queue);
            RETURN result;
        END $$
        """

    /// Declares the stored form of a key that is text: the digest of its JSON, as Swift writes it.
    private static func digest(_ name: String, of argument: Int, prefix: String) -> String {
        let json = "replace(to_json($\(argument)::TEXT)::TEXT, '/', '\\/')"
        return "\(name) CONSTANT TEXT := "
            + "\(prefix)encode(sha256(convert_to(\(json), 'UTF8')), 'hex');"
    }
}
#endif
