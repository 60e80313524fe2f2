"""The libraries for Python.

usage: peers.py LIBRARY FOLDER OUT SIDE WORKERS
       peers.py --version LIBRARY

Each makes an upright picture of at most SIDE pixels with the W3C's sepia at 80 %, as a JPEG of
quality 80, in the way its documentation recommends for small pictures.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

# Rows for red, green and blue.
SEPIA = [
    [0.5144, 0.6152, 0.1512],
    [0.2792, 0.7488, 0.1344],
    [0.2176, 0.4272, 0.3048],
]
QUALITY = 80


def pillow(path, out, side):
    from PIL import Image, ImageOps

    with Image.open(path) as image:
        # Decodes JPEGs at twice the size or more, then shrinks.
        image.thumbnail((side, side), reducing_gap=2.0)
        image = ImageOps.exif_transpose(image).convert("RGB")
        matrix = tuple(number for row in SEPIA for number in row + [0])
        image.convert("RGB", matrix).save(out, quality=QUALITY)


def opencv(path, out, side):
    import cv2
    import numpy

    cv2.setNumThreads(1)
    # The reader has no "fits into a box", so the file's size decides how much it shrinks.
    flag = cv2.IMREAD_COLOR
    if path.endswith(".jpg"):
        longer = max(jpeg_size(path))
        for factor, reduced in (
            (8, cv2.IMREAD_REDUCED_COLOR_8),
            (4, cv2.IMREAD_REDUCED_COLOR_4),
            (2, cv2.IMREAD_REDUCED_COLOR_2),
        ):
            if longer / factor >= 2 * side:
                flag = reduced
                break
    image = cv2.imread(path, flag)
    factor = side / max(image.shape[:2])
    size = (round(image.shape[1] * factor), round(image.shape[0] * factor))
    image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    # OpenCV's order is blue, green, red.
    image = cv2.transform(image, numpy.array(SEPIA)[::-1, ::-1])
    cv2.imwrite(out, image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])


def jpeg_size(path):
    with open(path, "rb") as file:
        file.seek(2)
        while True:
            _, marker, high, low = file.read(4)
            if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
                header = file.read(5)
                return header[3] << 8 | header[4], header[1] << 8 | header[2]
            file.seek((high << 8 | low) - 2, os.SEEK_CUR)


def pyvips(path, out, side):
    import pyvips

    image = pyvips.Image.thumbnail(path, side, height=side, size="down", export_profile="srgb")
    if image.hasalpha():
        image = image.flatten(background=255)
    image.recomb(SEPIA).cast("uchar").jpegsave(out, Q=QUALITY, strip=True)


LIBRARIES = {"pillow": pillow, "opencv": opencv, "pyvips": pyvips}


def version(name):
    if name == "pillow":
        import PIL

        return "Pillow " + PIL.__version__
    if name == "opencv":
        import cv2

        return "OpenCV " + cv2.__version__
    import pyvips

    return f"pyvips {pyvips.__version__}, libvips {pyvips.version(0)}.{pyvips.version(1)}"


def main():
    if sys.argv[1] == "--version":
        print(version(sys.argv[2]))
        return
    name, folder, out, side, workers = sys.argv[1:]
    convert = LIBRARIES[name]
    os.environ["VIPS_CONCURRENCY"] = "1"
    files = sorted(os.listdir(folder))
    paths = [os.path.join(folder, file) for file in files]
    results = [os.path.join(out, file + ".jpg") for file in files]
    # Pillow holds Python's lock for part of its work; the others do not.
    pool = ProcessPoolExecutor if name == "pillow" else ThreadPoolExecutor
    with pool(int(workers)) as workers_pool:
        list(workers_pool.map(convert, paths, results, [int(side)] * len(paths)))


if __name__ == "__main__":
    main()
