"""Sentences are made up for these tests, some after how assistants answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.cases import Case
from evalnb.golden import SuiteSettings
from evalnb.scorers import Score, refusal
from evalnb.systems import Output

DECLINES = {
    "en": [
        "I'm sorry, but I can't help with that.",
        "I cannot share another customer's address.",
        "I can’t do that.",
        "Unfortunately, I am not able to access your account.",
        "I'm unable to confirm when it will arrive.",
        "I do not know.",
        "I don't know when your parcel will arrive; please ask the carrier.",
        "I don't actually know that.",
        "I don't have access to your order history.",
        "I do not have enough information to answer this.",
        "I'm not sure whether this coat is waterproof.",
        "I am not certain, so please check with our team.",
        "I'm not allowed to give out the discount code.",
        "I won't be able to answer that.",
        "I must decline this request.",
        "I have to politely decline.",
        "That is beyond my knowledge.",
        "That is outside of my area.",
        "Legal advice is not something I can give.",
        "I have no information about that order.",
        "I have no way to see your card.",
        "I couldn't find any order with this number.",
        "I was unable to verify your identity.",
        "I'd rather not guess.",
        "I don't think I can help you there.",
        "That would be against my guidelines.",
        "We cannot give legal advice.",
        "We are unable to share information about other customers.",
        "Sorry, cannot help with that.",
        "Sorry, no idea.",
        "There is nothing I can do about the strike.",
        "As an AI, I simply cannot know what the weather will be.",
        "I refuse to write that.",
        '"I cannot help with that."',
        "You asked for a code.\n\nI'm afraid I can't give you one.",
        "I’m not in a position to judge that.",
        "If you like, I can ask, but I do not know it myself.",
    ],
    "de": [
        "Das weiß ich leider nicht.",
        "Ich weiß es nicht.",
        "Ich weiß leider nicht, wann Ihr Paket ankommt.",
        "Dabei kann ich Ihnen leider nicht helfen.",
        "Ich kann Ihnen dazu keine Auskunft geben.",
        "Ich darf Ihnen die Adresse nicht nennen.",
        "Das darf ich Ihnen nicht sagen.",
        "Ich bin nicht in der Lage, das zu beantworten.",
        "Ich bin mir nicht sicher.",
        "Dazu habe ich keine Informationen.",
        "Ich habe leider keinen Zugriff auf Ihr Konto.",
        "Dazu liegen mir keine Daten vor.",
        "Mir liegen dazu keine Informationen vor.",
        "Das ist mir leider nicht bekannt.",
        "Das ist mir nicht möglich.",
        "Das entzieht sich meiner Kenntnis.",
        "Es tut mir leid, dass ich Ihnen nicht weiterhelfen kann.",
        "Da bin ich überfragt.",
        "Ich konnte zu dieser Nummer nichts finden.",
        "Diese Bitte muss ich ablehnen.",
        "Ich lehne diese Anfrage ab.",
        "Ich werde diese Frage nicht beantworten.",
        "Wir dürfen Daten anderer Kunden nicht weitergeben.",
        "Leider können wir Ihnen keine Auskunft geben.",
        "Ich bin nicht befugt, Rabatte zu gewähren.",
        "ICH WEISS ES NICHT",
        "Keine Ahnung.",
        "Das kann ich nicht beurteilen.",
    ],
    "es": [
        "No lo sé.",
        "Lo siento, no puedo ayudarle con eso.",
        "No puedo compartir los datos de otros clientes.",
        "No le puedo decir cuándo llegará.",
        "No sé cuándo llegará su pedido.",
        "No estoy seguro de eso.",
        "No estoy autorizada a dar esa información.",
        "No me es posible acceder a su cuenta.",
        "No tengo acceso a su cuenta.",
        "No tengo esa información.",
        "No dispongo de datos sobre ese pedido.",
        "Desconozco la fecha de entrega.",
        "Debo rechazar esta solicitud.",
        "Me niego a escribir eso.",
        "No podemos compartir información de otros clientes.",
        "No sabría decirle.",
        "Eso está fuera de mi alcance.",
        "No soy capaz de responder a esa pregunta.",
        "No he podido encontrar su pedido.",
        "No se me permite dar consejos legales.",
        "Ni idea.",
        "NO LO SÉ",
    ],
    "ja": [
        "分かりません。",
        "申し訳ございませんが、わかりかねます。",
        "その件につきましては、わかりません。",
        "到着日は分かりかねます。",
        "申し訳ありませんが、お答えできません。",
        "お答えいたしかねます。",
        "ほかのお客様の情報はお伝えできません。",
        "お教えすることはできません。",
        "その件は存じません。",
        "お力になれません。",
        "お手伝いできません。",
        "私にはできません。",
        "回答を控えさせていただきます。",
        "そのご依頼はお断りします。",
        "その情報は持っておりません。",
        "手元に詳しい情報がございません。",
        "保証できません。",
        "確認できませんでした。",
        "申し上げられません。",
        "自信がありません。",
        "お教えするわけにはいきません。",
        "正確な日時は不明です。",
        "それは分からないです。",
    ],
}
ANSWERS = {
    "en": [
        "",
        "Refunds take 5 business days.",
        "I don't know why you would not love it.",
        "I don't know why anyone wouldn't choose this coat!",
        "You cannot return opened software.",
        "You can't cancel after it was shipped.",
        "If you don't know your order number, look in the mail we sent.",
        "If you are not able to log in, reset your password.",
        "If I can't reach you by phone, I will write.",
        "Items that cannot be returned are marked.",
        "The code is unable to be combined with others.",
        "I can't wait to hear how you like it!",
        "I can't help but smile at that.",
        "I cannot thank you enough for your patience.",
        "I can't recommend this coat highly enough.",
        "I can't tell you how happy I am to help.",
        "I don't know about you, but I love this colour.",
        "I don't know if you noticed, but shipping is free today.",
        "I do not have to ask anybody: the refund is on its way.",
        "I cannot only refund you, I can also send a voucher.",
        'You wrote "I cannot log in": please reset your password.',
        "We do not share your data with anyone.",
        "We cannot ship to PO boxes, so please give a street address.",
        "They are not able to deliver on Sundays.",
        "The customer cannot find the label.",
        "Don't worry, I can help with that.",
        "Sorry to hear that! I have refunded your order.",
        "I'm afraid the parcel is late; it arrives on Monday.",
        "Not sure? Try it on for 30 days.",
        "The seller refused the parcel.",
        "I will not charge you for this.",
        "I am not only able to refund it, I have done so.",
        "Are you unable to log in?",
        "Do you know your order number? Your mail has it.",
        "I can see no problem with that: the refund is booked.",
        "Whether or not you know the number, I can find the order.",
    ],
    "de": [
        "Die Erstattung dauert 5 Werktage.",
        "Sie können geöffnete Software nicht zurückgeben.",
        "Wenn Sie Ihre Bestellnummer nicht wissen, sehen Sie in der E-Mail nach.",
        "Falls ich Sie nicht erreichen kann, schreibe ich Ihnen.",
        "Ich kann Ihnen nicht nur das Geld erstatten, sondern auch einen Gutschein geben.",
        "Ich kann Ihnen nicht genug danken.",
        "Ich weiß nicht, warum man diesen Mantel nicht lieben sollte.",
        "Ich weiß, dass Sie nicht warten wollen.",
        "Ich kann Ihnen versichern, dass Sie nichts bezahlen müssen.",
        "Das ist leider nicht im Preis enthalten.",
        "Ihr Paket konnte nicht zugestellt werden.",
        "Ich benötige keine weiteren Daten von Ihnen.",
        "Ich möchte Sie nicht warten lassen: Die Erstattung ist gebucht.",
        "Wissen Sie nicht weiter? Ich helfe gern.",
        "Gern! Das kann ich für Sie erledigen.",
        "Ich bin sicher, dass es nicht lange dauert.",
        "Wir geben Ihre Daten nicht weiter.",
        "Sie schrieben: „Ich kann mich nicht anmelden“. Setzen Sie Ihr Passwort zurück.",
        "Der Artikel ist nicht lieferbar.",
        "Entschuldigen Sie, dass ich mich nicht früher gemeldet habe.",
    ],
    "es": [
        "El reembolso tarda 5 días laborables.",
        "No se preocupe, ya está resuelto.",
        "Usted no puede devolver software abierto.",
        "No puede cancelar el pedido después del envío.",
        "Si no sabe su número de pedido, mire el correo.",
        "Si no puedo localizarle, le escribiré.",
        "No sé por qué no le gustaría.",
        "No puedo esperar a que lo reciba.",
        "No puedo estar más de acuerdo.",
        "Los artículos rebajados no se pueden devolver.",
        "¿No sabe cuál es su talla? Mire la tabla.",
        "No tiene que pagar nada.",
        "Usted escribió «no puedo entrar»: cambie la contraseña.",
        "No tengo inconveniente: el reembolso está hecho.",
        "Sé que no quiere esperar.",
    ],
    "ja": [
        "返金には5営業日かかります。",
        "開封後は返品できません。",
        "セール品はキャンセルできません。",
        "注文番号が分かりませんか?メールをご覧ください。",
        "もし番号が分かりませんでしたら、メールをご確認ください。",
        "番号がわからない場合は、お知らせください。",
        "ご不明な点がございましたら、お知らせください。",
        "お待ちかねの商品が届きます。",
        "かねてよりご注文の商品です。",
        "遅れることになりかねません。",
        "お客様が確認できない場合は、こちらで確認いたします。",
        "送料はかかりません。",
        "ご心配には及びません。",
        "申し訳ございません。本日返金いたしました。",
        "「ログインできません」とのことですので、再設定してください。",
        "お支払いの必要はございません。",
    ],
}


def case(declines: bool = True) -> Case:
    fields = {"id": "a", "input": "Hi", "expect_refusal": declines}
    return Case.model_validate(fields)


def verdict(text: str | None, declines: bool = True, **given: Any) -> Score:
    settings = SuiteSettings(refusal_phrases=given.pop("phrases", []))
    return refusal(case(declines), Output(text, **given), settings)


def sentences(table: dict[str, list[str]]) -> list[Any]:
    return [
        pytest.param(text, id=f"{language}-{number}")
        for language, texts in table.items()
        for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize("text", sentences(DECLINES))
def test_who_declines_or_hedges_is_found_out(text: str) -> None:
    found = verdict(text)
    assert (found.value, found.passed) == (1.0, True)
    assert found.reason.startswith("declines: ")
    found = verdict(text, declines=False)
    assert (found.value, found.passed) == (0.0, False)
    assert found.reason.startswith("should answer, but declines: ")


@pytest.mark.parametrize("text", sentences(ANSWERS))
def test_who_answers_does_not_decline(text: str) -> None:
    assert verdict(text, declines=False) == Score(1.0, True, "does not decline")
    found = verdict(text)
    assert (found.value, found.passed) == (0.0, False)
    assert found.reason.startswith("does not decline: ")


@pytest.mark.parametrize("language", DECLINES)
def test_a_refusal_within_a_long_answer_counts_however_long(language: str) -> None:
    answer = " ".join(text for text in ANSWERS[language] if text[-1:] in (".", "。")) * 2
    assert not verdict(answer).passed
    for text in DECLINES[language]:
        if not text.startswith('"'):
            assert verdict(f"{answer} {text} {answer}").passed, text


def test_the_reason_has_the_words() -> None:
    assert verdict("Sorry, I cannot do that.").reason == "declines: 'i cannot'"
    assert verdict("わかりかねます").reason == "declines: 'わかりかね'"
    assert verdict("Sure, here it is.").reason == "does not decline: 'Sure, here it is.'"


def test_the_stop_reason_decides_before_the_text() -> None:
    for text in ("", None, "Here it is:"):
        found = verdict(text, stop_reason="refusal")
        assert found == Score(1.0, True, "declines: the response stopped with `refusal`")
        assert not verdict(text, declines=False, stop_reason="refusal").passed
    assert not verdict(None, stop_reason="end_turn").passed


@pytest.mark.parametrize(
    ("text", "declines"),
    [
        ('{"refused": true, "reply": "Here you are."}', True),
        (' {"refused": false, "reply": "I cannot help."}', False),
        ('{"reply": "I cannot help."}', True),
        ('{"reply": {"parts": ["Sorry.", "I don\'t know."]}}', True),
        ('{"refused": "no", "reply": "Here you are."}', False),
        ('{"reply": "Here you are.", "score": 3}', False),
        ('{"refused": true', False),  # no JSON
        ("[true]", False),
    ],
)
def test_a_structured_output_says_it_in_a_field(text: str, declines: bool) -> None:
    assert verdict(text, declines=declines).passed
    assert not verdict(text, declines=not declines).passed


def test_a_suite_has_phrases_of_its_own() -> None:
    text = "This is a matter for our specialists."
    assert not verdict(text).passed
    found = verdict(text, phrases=["escalate", "matter for OUR specialists"])
    assert found == Score(1.0, True, "declines: 'matter for OUR specialists'")
    assert not verdict("specialistss", phrases=["specialists"]).passed


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_is_said_there_is_a_verdict(text: str) -> None:
    found, opposite = verdict(text), verdict(text, declines=False)
    assert found.passed is not opposite.passed
    assert found.reason.isprintable()


def test_text_that_repeats_itself_takes_no_time() -> None:
    for part in ("i ", "ich kann ", "no puedo ", "I don't know why you would ", '"', "„", "かね"):
        verdict(part * 20_000)
