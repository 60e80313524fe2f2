// Scrolls through a list of pictures, and prints how its model changes, as a view would show it.

import Observation

@main
struct Program {
    @MainActor
    static func main() async {
        let model = QueueModel(rowCount: 1_000, load: loadPicture)
        let following = Task { await model.follow() }
        let view = Task {
            for await line in Observations({ line(of: model) }) { print(line) }
        }

        model.scroll(to: 0..<6)
        await model.finished()

        // A flick: rows pass by, and only those where it ends are loaded.
        for first in stride(from: 6, through: 40, by: 2) { model.scroll(to: first..<first + 6) }
        await model.finished()

        following.cancel()
        view.cancel()
        await following.value
        await view.value
        let loaded = model.rows.filter { if case .loaded = $1 { true } else { false } }
        print("loaded rows:", loaded.keys.sorted().map(String.init).joined(separator: " "))
        print("cancelled: \(model.cancelledCount)")
    }

    /// What a view would show.
    @MainActor
    private static func line(of model: QueueModel) -> String {
        let rows = model.visible.map { row in
            switch model.rows[row] {
            case .loaded(let picture): "\(row):" + String(picture.color, radix: 16)
            case .failed(let error): "\(row):\(error)"
            case .loading, nil: "\(row):…"
            }
        }
        return rows.joined(separator: " ") + (model.isLoading ? " (loading)" : "")
    }
}
