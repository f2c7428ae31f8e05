#include "csched.h"
#include "harness.h"

static void every_code_has_a_name_of_its_own(void)
{
    for (int code = CSCHED_OK; code >= CSCHED_EOUTPUT; code--) {
        CHECK(strcmp(csched_error_name(code), "unknown error") != 0);
        for (int other = CSCHED_OK; other > code; other--)
            CHECK(strcmp(csched_error_name(code), csched_error_name(other)) != 0);
    }
}

static void other_numbers_are_unknown(void)
{
    static const int codes[] = {1, CSCHED_EOUTPUT - 1, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        EQUAL(strcmp(csched_error_name(codes[i]), "unknown error"), 0);
}

MAIN(TEST(every_code_has_a_name_of_its_own), TEST(other_numbers_are_unknown))
