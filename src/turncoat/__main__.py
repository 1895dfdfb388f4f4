"""python -m turncoat"""

from turncoat.cli import main

main()
