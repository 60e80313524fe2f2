#if PhotoPipeline
// PhotoPipeline loads photos: `try await loader.photo(for: url)`.
//
//   Loader/    PhotoLoader, single photos for any number of callers: shares equal work, keeps
//              results in memory and on the disk
//   Stages/    Download → Decode → Filter → Encode: operations, joined by dependencies that carry
//              typed data; each does one thing, can be cancelled, and reports its failure
//   Download/  http, https and file, with limits, rules for addresses, and retries
//   Files/     files of this machine, and the addresses of photos
//
// Pictures never touch an event loop or the main thread: downloads suspend, and the operation
// queues' threads process the pixels.
#endif
