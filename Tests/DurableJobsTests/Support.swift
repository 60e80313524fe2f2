#if DurableJobs
#endif
