"""Made-up writing requests: the same for the same number, English or Chinese, of a given length."""

from __future__ import annotations

import random

_ENGLISH = (
    "write a letter to the harbour board about the night ferry that no longer stops at our island",
    "describe what its absence means for the school the clinic and two old boatbuilders",
    "keep the tone plain name three dates from the attached timetable avoid blaming anyone",
    "close with one request that can be answered by post include figures from last winter",
    "quote the minutes explain every abbreviation whose workshop depends on visitors",
)
_WORDS = [word for line in _ENGLISH for word in line.split()]
_CHINESE = (
    "请为即将关闭的乡村图书馆写一封公开信说明它对老人和孩子意味着什么语言平实不用感叹号引用去年冬天的借阅数据"
    "并在结尾提出一个可以书面答复的请求列出三位志愿者的经历按照时间顺序安排材料避免责备任何人"
)


def text(number: int, characters: int) -> str:
    """Every fourth is Chinese."""
    draw = random.Random(number)
    if number % 4 == 0:
        body = "".join(draw.choices(_CHINESE, k=characters))
    else:
        body = " ".join(draw.choices(_WORDS, k=characters // 4))
    return f"{number}. {body}"[:characters]
