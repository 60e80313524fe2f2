#if DurableJobsPostgres
/// The functions in the database that are a public interface: any client of PostgreSQL calls them.
/// They have the same checks as the methods of `JobQueue`.
enum PostgresFunctions {
    /// Makes the functions, in place of earlier ones, and the constraints. Each statement may be
    /// executed again.
    static let statements = [dropEnqueue, enqueue] + constraints

    /// The function of version 11 has fewer parameters, so it would stay beside the new one.
    private static let dropEnqueue = """
        DROP FUNCTION IF EXISTS durable_job_enqueue(
            TEXT, TEXT, JSONB, BIGINT, TIMESTAMPTZ, TIMESTAMPTZ, BIGINT, BIGINT, TEXT, TEXT)
        """

    /// Refuse rows that make no sense, whoever writes them. Rows that are there are not looked at,
    /// so the table is not locked for long.
    private static let constraints = [
        ("known_state", "state IN (0, 1, 2, 3, 4, 10, 11, 12)"),
        (
            "named",
            "octet_length(queue) BETWEEN 1 AND 200 AND octet_length(name) BETWEEN 1 AND 200"
        ),
        (
            "sensible_numbers",
            """
            version >= 1 AND retry_limit >= 0 AND rank IN (-8, -4, 0, 4, 8) \
            AND slots BETWEEN 2 AND 10000
            """
        ),
    ].map { name, condition in
        """
        ALTER TABLE durable_job DROP CONSTRAINT IF EXISTS "durable_job_\(name)",
            ADD CONSTRAINT "durable_job_\(name)" CHECK (\(condition)) NOT VALID
        """
    }

    /// The page `UsingJobs` describes the function. The arguments are read by their numbers: their
    /// names are those of columns.
    private static let enqueue = """
        CREATE OR REPLACE FUNCTION durable_job_enqueue(
            queue TEXT, name TEXT, arguments JSONB, version BIGINT DEFAULT 1,
            run_at TIMESTAMPTZ DEFAULT NULL, deadline TIMESTAMPTZ DEFAULT NULL,
            retries BIGINT DEFAULT 0, priority BIGINT DEFAULT 0,
            unique_key TEXT DEFAULT NULL, exclusive_key TEXT DEFAULT NULL,
            timeout INTERVAL DEFAULT NULL, exclusive_places BIGINT DEFAULT 1,
            group_key TEXT DEFAULT NULL, unique_for INTERVAL DEFAULT NULL,
            replacing_arguments BOOLEAN DEFAULT FALSE, postponing BOOLEAN DEFAULT FALSE,
            backoff TEXT DEFAULT NULL, trace TEXT DEFAULT NULL,
            has_digests BOOLEAN DEFAULT FALSE
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
            attempt_limit CONSTANT BIGINT := (EXTRACT(EPOCH FROM $11) * 1000)::BIGINT;
            unique_age CONSTANT BIGINT := (EXTRACT(EPOCH FROM $14) * 1000)::BIGINT;
            \(digest("of_unique", of: 9, prefix: "$2 || ' ' || "))
            \(digest("of_exclusive", of: 10, prefix: ""))
            \(digest("of_group", of: 13, prefix: ""))
            place BIGINT;
            head BIGINT;
            stored BIGINT;
            earlier BIGINT;
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
            ELSIF COALESCE($12, 1) NOT BETWEEN 1 AND 10000 THEN
                RAISE EXCEPTION 'durable_job_enqueue: job % has % places of its exclusive key: use 1 '
                    'to 10000', of_name, $12 USING ERRCODE = 'invalid_parameter_value';
            ELSIF of_rank NOT IN (-8, -4, 0, 4, 8) THEN
                RAISE EXCEPTION 'durable_job_enqueue: job % has the priority %: use -8, -4, 0, 4 or '
                    '8', of_name, $8 USING ERRCODE = 'invalid_parameter_value';
            END IF;
            SELECT COALESCE(MAX(h.position), 0) INTO head FROM durable_job_head h
                WHERE h.queue = of_queue AND h.rank = of_rank;
            place := head + 1;
            IF of_group IS NOT NULL THEN
                INSERT INTO durable_job_group AS g (queue, name, rank, position)
                VALUES (of_queue, of_group, of_rank, place)
                ON CONFLICT (queue, name, rank)
                DO UPDATE SET position = GREATEST(g.position, head) + 1
                RETURNING g.position INTO place;
            END IF;
            -- A job with the same key may end between the insertion and a look.
            LOOP
                IF unique_age IS NOT NULL THEN
                    \(ended)
                    IF earlier IS NOT NULL THEN RETURN earlier; END IF;
                END IF;
                INSERT INTO durable_job AS j (queue, name, version, arguments, state, rank,
                    base_rank, position, run_at, deadline, timeout, retry_limit, backoff, pending,
                    is_wide, unique_key, exclusive_key, slots, trace, enqueued_at)
                VALUES (of_queue, of_name, COALESCE($4, 1), convert_to(text_of_arguments, 'UTF8'),
                    CASE WHEN start > time THEN 1 ELSE 2 END, of_rank, of_rank,
                    place, start, time_limit, attempt_limit, COALESCE($7, 0), $17, 0, 0,
                    of_unique, of_exclusive,
                    CASE WHEN of_exclusive IS NOT NULL THEN NULLIF($12, 1) END, $18, time)
                ON CONFLICT (queue, unique_key) WHERE unique_key IS NOT NULL AND state < 10
                DO NOTHING RETURNING j.id INTO stored;
                IF stored IS NOT NULL THEN
                    IF unique_age IS NULL THEN EXIT; END IF;
                    \(ended)
                    EXIT WHEN earlier IS NULL;
                    DELETE FROM durable_job j WHERE j.id = stored;
                    RETURN earlier;
                END IF;
                SELECT j.id INTO stored FROM durable_job j
                    WHERE j.queue = of_queue AND j.unique_key = of_unique AND j.state < 10;
                CONTINUE WHEN stored IS NULL;
                IF $15 THEN
                    UPDATE durable_job j SET version = COALESCE($4, 1),
                        arguments = convert_to(text_of_arguments, 'UTF8')
                    WHERE j.id = stored AND j.state < 10 AND j.state <> 3;
                END IF;
                IF $16 THEN
                    UPDATE durable_job j SET run_at = COALESCE(start, time), parked = 0,
                        state = CASE WHEN j.state = 0 THEN 0 WHEN start > time THEN 1 ELSE 2 END
                    WHERE j.id = stored AND j.state < 10 AND j.state <> 3;
                END IF;
                EXIT;
            END LOOP;
            PERFORM pg_notify('durable_jobs', of_queue);
            RETURN stored;
        END $$
        """

    /// Declares the stored form of a key that is text: the digest of its JSON, as Swift writes it.
    private static func digest(_ name: String, of argument: Int, prefix: String) -> String {
        let json = "replace(to_json($\(argument)::TEXT)::TEXT, '/', '\\/')"
        return "\(name) CONSTANT TEXT := \(prefix)CASE WHEN $19 THEN $\(argument) "
            + "ELSE encode(sha256(convert_to(\(json), 'UTF8')), 'hex') END;"
    }

    /// Looks for a job with the key that has ended within the time.
    private static let ended = """
        SELECT e.id INTO earlier FROM (
                        SELECT j.id, j.ended_at FROM durable_job j
                        WHERE j.queue = of_queue AND j.unique_key = of_unique
                            AND j.unique_key IS NOT NULL AND j.state >= 10
                            AND j.ended_at > time - unique_age
                        UNION ALL
                        SELECT a.id, a.ended_at FROM durable_job_archive a
                        WHERE a.queue = of_queue AND a.unique_key = of_unique
                            AND a.unique_key IS NOT NULL AND a.ended_at > time - unique_age
                    ) AS e ORDER BY e.ended_at DESC LIMIT 1;
        """
}
#endif
