"""Encodings told from bytes: each text comes back as it was written, or a warning says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.catalog.bytes.encoding import detect
from stages.core.errors import UsageError

CHINESE = "姓名,城市\n王小明,北京\n李丽,上海\n张伟,广州\n"
TAIWAN = "姓名,城市\n王曉明,臺北\n李麗,高雄\n張偉,臺中\n"
GERMAN = "Name,Ort\nMüller,Köln\nJörg,Zürich\nStraße,Größe\n"
FRENCH = "nom,ville\nrésumé,Orléans\nÉlodie,Besançon\nça va,Nîmes\n"

ROUND_TRIPS = [
    ("plain", b"a,b\n1,2\n", "utf-8", False),
    ("utf-8", CHINESE.encode(), "utf-8", False),
    ("utf-8 with a mark", CHINESE.encode("utf-8-sig"), "utf-8", False),
    ("utf-16 le with a mark", b"\xff\xfe" + GERMAN.encode("utf-16-le"), "utf-16-le", False),
    ("utf-16 be with a mark", b"\xfe\xff" + GERMAN.encode("utf-16-be"), "utf-16-be", False),
    ("utf-32 with a mark", b"\xff\xfe\0\0" + GERMAN.encode("utf-32-le"), "utf-32-le", False),
    ("utf-16 le without", GERMAN.encode("utf-16-le"), "utf-16-le", True),
    ("utf-16 be without", GERMAN.encode("utf-16-be"), "utf-16-be", True),
    ("utf-16 be without, Chinese", CHINESE.encode("utf-16-be"), "utf-16-be", True),
    ("gb18030", CHINESE.encode("gb18030"), "gb18030", True),
    ("big5", TAIWAN.encode("big5"), "big5", True),
    ("cp1252 German", GERMAN.encode("cp1252"), "cp1252", True),
    ("cp1252 French", FRENCH.encode("cp1252"), "cp1252", True),
    ("one accent", b"name\nM\xfcller\n", "cp1252", True),
    ("an accent at the very start", b"\xe9t\xe9,b\n1,2\n", "cp1252", True),
]


@pytest.mark.parametrize(
    ("data", "name", "guessed"),
    [case[1:] for case in ROUND_TRIPS],
    ids=[case[0] for case in ROUND_TRIPS],
)
def test_each_encoding_is_told_and_guesses_are_said(data: bytes, name: str, guessed: bool) -> None:
    found = detect([data], whole=True)
    assert found.name == name
    assert bool(found.warning) is guessed
    text = found.decode(data, first=True, last=True)
    assert text.encode(name) == data[found.mark :]
    assert not text.startswith("\ufeff")


def test_single_broken_bytes_leave_the_rest_of_utf8_alone() -> None:
    data = CHINESE.encode() * 5 + b"\xff\n"
    found = detect([data], whole=True)
    assert (found.name, found.errors) == ("utf-8", "replace")
    assert found.warning
    assert "王小明" in found.decode(data, first=True, last=True)


def test_samples_may_be_cut_inside_a_character() -> None:
    data = ("王" * 1000).encode()
    parts = [data[:100], data[1000:1100], data[-100:]]
    assert detect(parts, whole=False).name == "utf-8"


def test_a_late_sample_counts() -> None:
    found = detect([b"a,b\n" * 100, "Müller,Köln\n".encode("cp1252") * 50], whole=False)
    assert found.name == "cp1252"


def test_the_user_s_word_is_taken_and_checked() -> None:
    assert detect([b"\x83e\x83X\x83g"], whole=True, override="shift_jis").name == "shift_jis"
    assert detect([b"\xef\xbb\xbfa"], whole=True, override="utf-8").mark == 3
    with pytest.raises(UsageError, match="no encoding"):
        detect([b"a"], whole=True, override="klingon")


@given(st.text(min_size=1))
def test_utf8_is_never_mistaken_for_a_legacy_encoding(text: str) -> None:
    data = text.encode("utf-8", "ignore")
    if b"\0" not in data and not text.startswith("\ufeff"):
        found = detect([data], whole=True)
        assert found.decode(data, first=True, last=True) == data.decode()


@given(st.binary(max_size=300))
def test_any_bytes_give_some_encoding(data: bytes) -> None:
    found = detect([data], whole=True)
    assert isinstance(found.decode(data, first=True, last=True), str)


SHORT = [
    ("shift_jis", "番号,名前\n1,東京\n2,大阪\n"),
    ("cp932", "商品コード,商品名,価格\nA01,りんご,100\nA02,みかん,80\n"),
    ("cp932", "id,name\n1,田中\n2,鈴木\n"),
    ("cp932", "都道府県,人口\n北海道,5224614\n青森県,1237984\n岩手県,1210534\n宮城県,2301996\n"),
    ("euc_jp", "商品コード,商品名,価格\nA01,りんご,100\nA02,みかん,80\n"),
    ("cp1251", "ид,имя\n1,Москва\n2,Казань\n"),
    ("cp1251", "id,name\n1,Иванов\n2,Петров\n"),
    ("cp1251", "id,city\n1,Москва\n"),
    ("cp1251", "Фамилия;Имя;Город\nСидоров;Пётр;Екатеринбург\nКузнецова;Анна;Омск\n"),
    ("cp1251", "ід,місто\n1,Київ\n2,Львів\n3,Харків\n"),
    ("cp1251", "име,град\nИван,София\nГеорги,Пловдив\n"),
    ("cp1251", "КОД,ГОРОД\n1,МОСКВА\n2,КАЗАНЬ\n"),
    ("koi8-r", "ид,имя\n1,Москва\n2,Казань\n"),
    ("koi8-r", "id,name\n1,Иванов\n2,Петров\n"),
    ("koi8-r", "КОД,ГОРОД\n1,МОСКВА\n2,КАЗАНЬ\n"),
    ("koi8-u", "ід,ім'я,місто\n1,Олексій,Київ\n2,Ігор,Львів\n"),
    ("cp866", "ид,имя\n1,Москва\n2,Казань\n"),
    ("euc_kr", "번호,이름\n1,서울\n2,부산\n"),
    ("cp949", "상품코드,상품명,가격\nA1,사과,100\nA2,배,200\n"),
    ("cp949", "id,name\n1,김철수\n2,이영희\n"),
    ("iso8859-2", "id,město\n1,Řím\n2,Žižkov\n"),
    ("iso8859-2", "id,miasto\n1,Łódź\n2,Gdańsk\n3,Kraków\n"),
    ("iso8859-2", "id,név\n1,Győr\n2,Szűcs Ödön\n"),
    ("cp1250", "id,město\n1,Řím\n2,Žižkov\n3,Šumperk\n"),
    ("cp1250", "id,miasto\n1,Łódź\n2,Gdańsk\n3,Świdnica\n"),
    ("cp1250", "id,név\n1,Győr\n2,Szűcs Ödön\n"),
    ("gb18030", "姓名,n\n王小明,1\n李丽,2\n"),
    ("gb18030", "id,city\n1,北京\n2,上海\n"),
    ("gb18030", "商品,价格\n苹果,1\n香蕉,2\n"),
    ("gb18030", "基金代码,基金名称\n000001,华夏成长\n000002,嘉实增长\n"),
    ("gb18030", "id,省\n1,广东\n"),
    ("big5", "姓名,n\n王曉明,1\n李麗,2\n"),
    ("big5", "id,city\n1,臺北\n2,高雄\n"),
    ("big5", "商品,價格\n蘋果,1\n香蕉,2\n"),
    ("cp1252", "name,n\nMüller,1\nJörg,2\n"),
    ("cp1252", "name\nMüller\n"),
    ("cp1252", "nom,ville\nÉlodie,Orléans\nFrançois,Besançon\nAndré,Nîmes\n"),
    ("cp1252", "id,ciudad\n1,Córdoba\n2,Logroño\n3,Málaga\n"),
    ("cp1252", "id,cidade\n1,São Paulo\n2,Brasília\n3,Goiânia\n"),
    ("cp1252", "id,stad\n1,Malmö\n2,Göteborg\n3,Västerås\n"),
    ("cp1252", "item,price\nA,€5\nB,€6\n"),
    ("cp1252", "id,say\n1,it’s “fine”\n2,don’t – no\n"),
    ("cp1252", "city,temp\nRome,25°C\nOslo,10°C\n"),
    ("cp1252", "id,kaupunki\n1,Jyväskylä\n2,Hämeenlinna\n"),
    ("cp1252", "id,by\n1,København\n2,Ålborg\n3,Århus\n"),
    ("cp1253", "κωδ,πόλη\n1,Αθήνα\n2,Πάτρα\n"),
    ("cp1254", "no,ad\n1,Ayşe Yıldız\n2,Çağrı Güneş\n"),
    ("cp1255", "מספר,שם\n1,ירושלים\n2,חיפה\n"),
    ("cp1256", "رقم,مدينة\n1,القاهرة\n2,دمشق\n"),
    ("cp874", "รหัส,ชื่อ\n1,กรุงเทพ\n2,เชียงใหม่\n"),
    ("big5", "股票代號,名稱\n2330,台積電\n2317,鴻海\n"),
]
"""A few words each, as small tables hold them."""


@pytest.mark.parametrize(("encoding", "text"), SHORT)
def test_short_files_of_many_languages_are_read_as_they_were_written(
    encoding: str, text: str
) -> None:
    data = text.encode(encoding)
    found = detect([data], whole=True)
    assert found.decode(data, first=True, last=True) == text
    assert f"read as {found.name}, a guess" in found.warning


def test_a_doubtful_guess_names_the_other() -> None:
    data = "番号,名前\n1,東京\n2,大阪\n".encode("euc_jp")
    assert "--encoding euc_jp" in detect([data], whole=True).warning
