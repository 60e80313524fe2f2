// PhotoPipeline: photos are found, downloaded, decoded, filtered and handed on, by operations.
//
// In come sources (a property list, JSON, a text, a folder, a URL) and what a person does to a list of
// photos. Out go pictures, and news about each row.
//
//   Sources/   argument, bytes → PhotoList of PhotoRecords
//   Stages/    Download → Decode → Filter → Encode → Write: operations, joined by dependencies that
//              carry typed data; each does one thing, can be cancelled, and says why it failed
//   Download/  http, https and file, with limits, rules for addresses, and retries
//   List/      PhotoListController decides (pure), PendingOperations holds the two queues,
//              PhotoListSession joins them for one page
//   Batch/     a whole list into a folder
//
// Pictures never touch an event loop or the main thread: downloads suspend, pixels are worked on by
// the operation queues' threads.
