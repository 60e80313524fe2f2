// The catalogue: every text of the page, in English and Chinese. The browser's language decides.
//
// A text may contain values in braces. A text with a `count` may have a second form, after "|", for
// counts other than 1. Names come from the server and are shown as they are. The reason of a
// failure comes as an English sentence, and as a code with values for other languages.

const catalogue = {
  en: {
    photos: "{count} photo|{count} photos",
    currentFilter: "Filter of the list",
    byState: "Photos by state",
    new: "New", downloaded: "Downloaded", filtered: "Filtered", failed: "Failed to load",
    countNew: "{count} new", countDownloaded: "{count} downloaded",
    countFiltered: "{count} filtered", countFailed: "{count} failed",
    inProgress: "In progress", retry: "Retry", retryName: "Retry {name}",
    retryAll: "Retry all failed",
    dismiss: "Dismiss", lost: "Connection lost. Reconnecting…",
    listFailed: "The list of photos could not be loaded. {reason}",
    empty: "There are no photos in this list.",
    noMatch: "No photo matches.", showAll: "Show all photos",
    matches: "{count} match|{count} matches",
    find: "Find by name", tools: "Find, order and view",
    sort: "Order", sortList: "List order", sortName: "Name", sortDate: "Date taken",
    sortSize: "File size", sortState: "State",
    asGrid: "Show as a grid (#)", asList: "Show as a list (#)",
    moved: "The list has changed. The photo of this address is no longer at its place.",
    engine: "Engine room",
    queueDownload: "Downloading", queueFilter: "Decoding and filtering",
    queueWords: "{running} running, {waiting} waiting", queueIdle: "idle",
    queuePaused: "paused, {waiting} waiting", queueScrolling: "waits while you scroll",
    "queue-waiting": "waiting", "queue-running": "running", "queue-finished": "finished",
    "queue-failed": "failed", "queue-cancelled": "no longer needed",
    "figure-throughput": "photos a second", "figure-time": "seconds until the screen is complete",
    "figure-hits": "of the pictures from memory", "figure-bytes": "downloaded",
    timelineLabel: "The last 30 seconds: {count} operation, {running} running|"
      + "The last 30 seconds: {count} operations, {running} running",
    now: "now", pause: "Pause", resume: "Resume", cancelAll: "Cancel all", atOnce: "At once",
    narrower: "{name}: fewer at once", wider: "{name}: more at once",
    naive: "Naive mode",
    naiveHelp: "Every photo of the list, one after the other, and nothing is cancelled. Scroll "
      + "far down, switch it on, and scroll far down again to feel the difference.",
    ratio: "After a scroll, the screen was complete in {normal} s; in naive mode in {naive} s, "
      + "{ratio} times as long.",
    ratioSoFar: "After a scroll, the screen was complete in {normal} s; in naive mode, it takes "
      + "more than {ratio} times as long.",
    saveTimeline: "Save the timeline for Perfetto",
    close: "Close", previous: "Previous photo", next: "Next photo",
    zoomIn: "Enlarge", zoomOut: "Reduce",
    look: "Look", details: "Details", files: "Files",
    addFilter: "Add a filter", removeFilter: "Remove {name}", listLook: "As in the list",
    compare: "Compare with the original", divider: "Border between before and after",
    notThere: "This photo has not been downloaded yet.", why: "Why is it not there yet?",
    saveResult: "Save result", saveOriginal: "Save original", copyAddress: "Copy address",
    copied: "The address is in the clipboard.",
    taken: "Taken", camera: "Camera", lens: "Lens", exposure: "Exposure", size: "Size",
    format: "Format", place: "Coordinates", source: "Source",
  },
  zh: {
    photos: "{count} 张照片",
    currentFilter: "列表的滤镜",
    byState: "按状态统计的照片",
    new: "未下载", downloaded: "已下载", filtered: "已加滤镜", failed: "加载失败",
    countNew: "{count} 未下载", countDownloaded: "{count} 已下载",
    countFiltered: "{count} 已加滤镜", countFailed: "{count} 失败",
    inProgress: "处理中", retry: "重试", retryName: "重试 {name}",
    retryAll: "重试所有失败的照片",
    dismiss: "关闭", lost: "连接已断开，正在重新连接…",
    listFailed: "无法加载照片列表。{reason}",
    empty: "此列表中没有照片。",
    noMatch: "没有符合条件的照片。", showAll: "显示所有照片", matches: "{count} 个匹配",
    find: "按名称查找", tools: "查找、排序与视图",
    sort: "排序", sortList: "列表顺序", sortName: "名称", sortDate: "拍摄日期",
    sortSize: "文件大小", sortState: "状态",
    asGrid: "以网格显示（#）", asList: "以列表显示（#）",
    moved: "列表已更改，此地址的照片已不在原处。",
    engine: "机房",
    queueDownload: "下载", queueFilter: "解码与滤镜",
    queueWords: "{running} 进行中，{waiting} 等待", queueIdle: "空闲",
    queuePaused: "已暂停，{waiting} 等待", queueScrolling: "滚动时等待",
    "queue-waiting": "等待", "queue-running": "进行中", "queue-finished": "完成",
    "queue-failed": "失败", "queue-cancelled": "不再需要",
    "figure-throughput": "张照片/秒", "figure-time": "秒完成一屏",
    "figure-hits": "的图片来自内存", "figure-bytes": "已下载",
    timelineLabel: "最近 30 秒：{count} 个操作，{running} 个进行中",
    now: "现在", pause: "暂停", resume: "继续", cancelAll: "全部取消", atOnce: "同时进行",
    narrower: "{name}：减少并发", wider: "{name}：增加并发",
    naive: "朴素模式",
    naiveHelp: "逐张处理列表中的所有照片，从不取消。先滚动很远，再打开它滚动很远，感受差别。",
    ratio: "滚动后完成一屏需 {normal} 秒，朴素模式需 {naive} 秒：{ratio} 倍。",
    ratioSoFar: "滚动后完成一屏需 {normal} 秒，朴素模式需要 {ratio} 倍以上的时间。",
    saveTimeline: "保存 Perfetto 时间线",
    close: "关闭", previous: "上一张", next: "下一张",
    zoomIn: "放大", zoomOut: "缩小",
    look: "外观", details: "详情", files: "文件",
    addFilter: "添加滤镜", removeFilter: "移除{name}", listLook: "与列表相同",
    compare: "与原图比较", divider: "前后对比分界线",
    notThere: "这张照片尚未下载。", why: "为什么还没有？",
    saveResult: "保存结果", saveOriginal: "保存原图", copyAddress: "复制地址",
    copied: "地址已复制到剪贴板。",
    taken: "拍摄时间", camera: "相机", lens: "镜头", exposure: "曝光", size: "尺寸",
    format: "格式", place: "坐标", source: "来源",
    "word-sepia": "怀旧", "word-sepia-css": "怀旧（CSS）", "word-tonal": "灰度",
    "word-monochrome": "单色", "word-noir": "黑白", "word-chrome": "铬黄", "word-fade": "褪色",
    "word-instant": "拍立得", "word-process": "冲印", "word-transfer": "转印",
    "word-vignette": "暗角", "word-blur": "模糊", "word-sharpen": "锐化", "word-tilt-shift": "移轴",
    "word-intensity": "强度", "word-amount": "程度", "word-radius": "半径", "word-center": "中心",
    "word-band": "清晰带",
    "failure-badEntry": "列表中的此条目有误：{detail}",
    "failure-folderSkipped": "已跳过文件夹“{name}”：{detail}。",
    "failure-noFile": "文件 {name} 不存在。",
    "failure-notAFile": "{name} 不是普通文件。",
    "failure-fileNotReadable": "无法读取 {name}，请检查权限与磁盘。",
    "failure-fileTooLarge": "文件超过 {limit} MiB，请使用较小的文件或提高上限。",
    "failure-badAddress": "此网址无法下载：{detail}。",
    "failure-addressBlocked": "{host} 不是公共地址（{address}），默认不从这类地址下载。"
      + "可用 --allow-host {allowed} 允许此主机。",
    "failure-unknownHost": "找不到主机 {host}。",
    "failure-unreachable": "{host} 的端口 {port} 拒绝连接或无法到达。",
    "failure-noConnection": "{host} 在 {seconds} 秒内没有接受连接。",
    "failure-noAnswer": "{host} 在 {seconds} 秒内没有回应。",
    "failure-stalled": "{host} 已有 {seconds} 秒没有发送数据。",
    "failure-tookTooLong": "下载超过了 {seconds} 秒。",
    "failure-closedEarly": "文件传完之前，{host} 关闭了连接。",
    "failure-serverAnswered": "服务器返回了 {status} {phrase}。",
    "failure-wrongPart": "{host} 发送的不是所请求的部分。",
    "failure-tooManyRedirects": "{host} 的重定向超过 {limit} 次。",
    "failure-redirectLoop": "{host} 的重定向陷入循环。",
    "failure-badRedirect": "{host} 的重定向无效：{detail}。",
    "failure-downloadFailed": "下载失败：{detail}。",
    "failure-pictureTookTooLong": "处理图片超时，请重试。",
    "failure-emptyFile": "文件是空的，请重新下载或复制。",
    "failure-notAPicture": "此文件不是已知格式的图片。"
      + "请使用 JPEG、PNG、WebP、GIF、TIFF、HEIC 或 AVIF。",
    "failure-formatNotRead": "不支持此文件的格式（{detail}），请转换为 PNG、TIFF 或 JPEG。",
    "failure-formatNotAllowed": "此处不允许 {format} 格式。",
    "failure-tooManyPixels": "图片有 {size} 像素，超过上限。可用 --max-pixels 提高上限。",
    "failure-tooManyFrames": "图片有 {frames} 帧，每帧 {size} 像素，总数超过上限。"
      + "可用 --max-pixels 提高上限。",
    "failure-damaged": "图片已损坏，无法解码：{detail}。请重新下载或复制文件。",
    "failure-filterFailed": "滤镜失败：{detail}。",
    "failure-encodeFailed": "无法写出图片：{detail}。",
    "failure-outOfMemory": "内存不足，请使用较小的尺寸。",
    "failure-engineUnavailable": "libvips 无法启动，请安装 libvips 8.14 或更新的版本。",
  },
};

export const language = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
const texts = catalogue[language];

/// A number with the separators of the language. For counts, both languages have a comma before each
/// group of three digits; the browser's formatter takes long to load.
export function number(value, options) {
  if (options || !Number.isInteger(value)) {
    return new Intl.NumberFormat(language, options).format(value);
  }
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/// Whether the catalogue has a text for a key in this language.
export const has = (key) => key in texts;

/// The text of a key, with its values filled in.
export function text(key, values = {}) {
  const forms = texts[key].split("|");
  const form = forms.length > 1 && values.count !== 1 ? forms[1] : forms[0];
  return form.replace(/\{(\w+)\}/g, (_, name) =>
    typeof values[name] === "number" ? number(values[name]) : values[name] ?? "");
}

const capitalized = (words) => words.charAt(0).toUpperCase() + words.slice(1);
const translated = (word) => has(`word-${word}`) ? text(`word-${word}`) : word.replaceAll("-", " ");

/// The name of a filter or of one of its parameters.
export const filterName = (word) => capitalized(translated(word));

/// Filters in words: "sepia=0.8" is "Sepia 0.8".
export const filterWords = (filters) =>
  capitalized(filters.replace(/[a-z][a-z-]*/g, translated).replaceAll("=", " "));

/// The reason of a failure in the page's language, or the server's sentence if the catalogue has
/// none.
export function failureText(sentence, failure) {
  const key = `failure-${failure?.code}`;
  return has(key) ? text(key, failure.values) : sentence;
}

/// Fills in the texts of the elements that name their key: `data-text` for the content, and
/// `data-label` for the accessible name, which a pointer shows as well.
export function translate(root) {
  for (const element of root.querySelectorAll("[data-text]")) {
    element.textContent = text(element.dataset.text);
  }
  for (const element of root.querySelectorAll("[data-label]")) {
    const label = text(element.dataset.label);
    element.setAttribute("aria-label", label);
    if (element.matches("button")) element.title = label;
    if (element.matches("input")) element.placeholder = label;
  }
}

/// A number of bytes in the unit that suits it.
export function bytes(count) {
  const [value, unit] =
    count < 1e6 ? [count / 1e3, "kB"] : count < 1e9 ? [count / 1e6, "MB"] : [count / 1e9, "GB"];
  return `${number(value, { maximumFractionDigits: value < 10 ? 1 : 0 })} ${unit}`;
}
