#if PhotoPipeline
// PhotoPipeline finds, downloads, decodes, filters and delivers photos with operations.
//
// The input is a source (a property list, JSON, a text file, a folder, a URL) and the events of a
// person who scrolls a list of photos. The output is pictures, and changes of rows.
//
//   Sources/   argument, bytes → PhotoList of PhotoRecords
//   Stages/    Download → Decode → Filter → Encode → Write: operations, joined by dependencies that
//              carry typed data; each does one thing, can be cancelled, and reports its failure
//   Download/  http, https and file, with limits, rules for addresses, and retries
//   Loader/    single photos for any number of callers: shares equal work, keeps results in memory
//              and on the disk
//   List/      PhotoListController decides (pure), PendingOperations holds the two queues,
//              PhotoListSession joins them for one page
//   Viewing/   single photos of a list on a screen: details, larger pictures, search and order
//   Batch/     a whole list into a folder
//
// Pictures never touch an event loop or the main thread: downloads suspend, and the operation
// queues' threads process the pixels.
#endif
