"""What is refused because of one field stands at that field, in the forms that are left."""

import pytest

from tests.browser.test_refusals import FORMS, WITH_A_PASSWORD, WITH_A_RULE, is_refused_at_its_field


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("form", sorted(FORMS.keys() - {WITH_A_RULE, WITH_A_PASSWORD}))
def test_a_refusal_stands_at_its_field_in_every_other_form(open_tab, form):
    is_refused_at_its_field(open_tab, form)
